"""Lists, tuples, dicts, sets and comprehensions that hold recorded values."""

import collections
import copy
import functools
import itertools

import numpy as np
import pytest

from python.check import Programs, check, name_of

program = Programs()


@program
def lists_that_grow_and_shrink(x):
    a = [x[0]]
    a.append(x[1] * 2.0)
    a.extend([x[2], x[3]])
    a.insert(1, a[0] * a[1])
    last = a.pop()
    first = a.pop(0)
    a.reverse()
    a += [first * 2.0]
    del a[1]
    a.remove(a[0])
    return sum(a) * last + len(a) * a[-1] ** 2


@program
def parts_of_lists(x):
    a = [x[k] * k for k in range(4)]
    a[1:3] = [a[2] * a[1], 1.0, a[3]]
    b = a[::-1]
    b[::2] = [x[0], x[1], x[2]]
    c = b * 2 + a[:1]
    c[-1] += c[0]
    return sum(k * v for k, v in enumerate(c)) + len(c) * a[1]


@program
def lists_of_lists(x):
    L = [[0.0] * 3 for _ in range(3)]
    for i in range(3):
        for j in range(i + 1):
            s = x[i] * x[j] + (3.0 if i == j else 0.0)
            for k in range(j):
                s -= L[i][k] * L[j][k]
            L[i][j] = s**0.5 if i == j else s / L[j][j]
    return L[2][0] * L[1][1] + np.sum(np.array(L)[2])


@program
def one_list_of_two_names(x):
    a = [x[0], x[1]]
    b, c = a, a.copy()
    b[0] = b[1] * 2.0
    c.append(x[2])
    rows = [[x[3]]] * 2
    rows[0].append(x[0])
    d = copy.copy(rows)
    d[1] = [5.0]
    return a[0] * len(a) + c[0] * c[2] + sum(rows[1]) * len(rows[1]) + d[0][0]


@program
def comprehensions_in_comprehensions(x):
    table = [[a * b for a in x[:3]] for b in x[1:]]
    flat = [v for row in table for v in row if len(row) > 2]
    evens = [x[i] for i in range(4) if i % 2 == 0]
    return sum(flat[k] * (k + 1) for k in range(len(flat))) + evens[0] * evens[1] + sum(map(sum, table))


@program
def dicts_by_comprehension(x):
    names = "abcd"
    d = {name: x[k] * k for k, name in enumerate(names)}
    e = {k: v * 2.0 for k, v in d.items() if k not in {"a", "c"}}
    lengths = {len(n) for n in ("a", "bc", "d")}
    return sum(e.values()) * d["c"] + len(lengths) * d["b"] + max(lengths) * x[0]


@program
def methods_of_dicts(x):
    d = {"w": x[0], "b": x[1]}
    d["c"] = d.get("none", x[2]) * d.pop("b")
    d.update(w=d["w"] * 2.0, z=1.0)
    d.setdefault("y", x[3])
    d.setdefault("w", 100.0)
    e = {**d, "z": x[0]} | {"q": 2.0}
    s = 0.0
    for k, key in enumerate(sorted(e)):
        s += k * e[key]
    return s + len(e) * d["w"] + ("b" in d) + (d["y"] * 2.0 if "y" in d else 0.0)


@program
def dicts_of_special_kinds(x):
    groups = collections.defaultdict(list)
    for k in range(4):
        groups[k % 2].append(x[k])
    order = collections.OrderedDict((k, sum(v)) for k, v in groups.items())
    order.move_to_end(0)
    counts = collections.Counter("hello")
    return next(iter(order.values())) * order[0] + counts["l"] * x[0] * groups[1][1]


@program
def table_by_pairs(x):
    memo = {(0, 0): x[0]}
    for i in range(3):
        for j in range(3):
            if (i, j) not in memo:
                memo[i, j] = memo.get((i - 1, j), 0.0) * x[1] + memo.get((i, j - 1), x[2]) * 0.5
    return memo[2, 2] * memo[1, 0]


@program
def unpacked(x):
    a, (b, *rest), c = x[0], [x[1], x[2], 3.0], x[3]
    *first, last = x
    head, *_, tail = [a * b, 0.0, c]
    (p, q), r = np.outer(x[:2], x[:2]), x[1]
    rest[0], y = rest[1], rest[0]
    return a * b + rest[0] * c + first[1] * last + head * tail + p[1] * q[0] * r + y


@program
def queues(x):
    q = collections.deque(x[:3], maxlen=4)
    q.appendleft(x[3])
    q.rotate(1)
    first = q.popleft()
    q.extend([first * 2.0, q[0], q[-1]])
    return sum(k * v for k, v in enumerate(q)) * first


@program
def sorted_by_what_python_knows(x):
    pairs = sorted([(2, x[0]), (0, x[1]), (1, x[2])], key=lambda p: p[0])
    names = {"b": x[3], "a": x[0]}
    order = sorted(range(4), key=[3, 1, 0, 2].__getitem__, reverse=True)
    best = pairs[max(range(3), key=lambda k: -pairs[k][0])]
    s = 0.0
    for (k, v), i in zip(pairs, order, strict=False):
        s = s * 0.5 + k * v * x[i]
    return s + names[min(names)] * best[1]


@program
def mapped_and_filtered(x):
    squares = list(map(lambda v: v * v, x))
    products = [*map(lambda a, b: a * b, x, squares)]
    some = list(filter(lambda k: k % 3, range(4)))
    columns = list(zip(squares, products, strict=True))
    a, b = zip(*columns, strict=True)
    return sum(a) * b[0] + sum(columns[k][1] for k in some)


@program
def reduced_and_accumulated(x):
    product = functools.reduce(lambda a, b: a * b + 1.0, x)
    sums = list(itertools.accumulate(x, lambda a, b: a * 0.5 + b))
    start = sum([x[:2], x[2:]], np.ones(2))
    return product * sums[-1] + np.sum(start * start) + functools.reduce(np.dot, [x, np.outer(x, x), x])


@program
def arrays_from_lists(x):
    R = np.array([[np.cos(x[0]), -np.sin(x[0])], [np.sin(x[0]), np.cos(x[0])]])
    rows = [x * k for k in range(3)]
    stacked = np.stack(rows[1:])
    joined = np.concatenate([rows[1][:2], [1.0, x[0]], R[0]])
    return np.sum(R @ x[:2]) + np.sum(stacked * stacked) + np.sum(joined[1:] * joined[:-1])


@program
def arrays_in_lists_are_the_arrays(x):
    y = [x * 1.0, x * 2.0]
    first = y[0]
    for part in y:
        part *= 0.5
    y[1][0] = first[1] * 3.0
    y.append(y[1][1:])
    y[2] += 1.0
    return np.sum(first * x) + np.sum(y[1] ** 2)


@program
def flags_of_all(x):
    k = [1, 2, 0]
    s = x[0] if all(v >= 0 for v in k) else 0.0
    if any(k) and not all(k):
        s = s * x[1]
    return s * max(v * v for v in x) - min(x[0], *x[1:])


@pytest.mark.parametrize("f", program, ids=name_of)
def test_program(f):
    check(f)
