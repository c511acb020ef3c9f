"""Random structured NumPy programs, as source text.

A program is the text of a module with two functions: ``program``, which returns a float, and ``arguments``, which makes
its arguments. :func:`programs` is the hypothesis strategy, :func:`sample` the program of a seed.

The rules write valid programs only, and not what ``docs/limits.md`` says is refused. :data:`FEATURES` names the
constructs that can be left out.
"""

from __future__ import annotations

import random
from collections.abc import Collection, Iterator
from contextlib import contextmanager

from hypothesis import strategies as st

from fuzz.choices import Choices, Drawn, Seeded
from fuzz.printing import Block, Compound, module
from fuzz.values import LITERALS, LOOP_VARIABLES, Extent, Interval, Scope, Values, filled

FEATURES = {
    "while": "while loops",
    "break": "break",
    "continue": "continue",
    "return": "returns before the last statement",
    "trips": "loops whose bounds are read from arrays or set by statements",
    "integers": "integer arguments",
    "indices": "elements of an integer array as indices and in conditions",
    "counters": "integers that statements set",
    "data_slices": "slices whose lengths are such integers",
    "vector_index": "an integer array as an index",
    "views": "names for parts of arrays",
    "rebinding": "names of arrays bound again",
    "masks": "boolean arrays as indices",
    "calls": "functions that write their arguments",
    "guards": "arms of np.where that are not finite where they are not chosen",
    "complex": "complex numbers on the way",
}
"""Constructs that can be left out."""

WRAPPERS = ("{}", "np.tanh({})", "0.5 * {}", "np.sin({})", "0.3 * {}")
AUGMENTED = ("+=", "-=", "*=", "/=")


class Writer(Values):
    """Appends statements to the block at hand."""

    def __init__(self, choices: Choices, features: Collection[str], size: int) -> None:
        super().__init__(choices, features, size)
        self.block: Block = []
        self.written: set[str] = set()  # arrays that statements have written
        self.bound: dict[str, Block] = {}  # where names of new arrays and of parts were bound
        self.viewed: set[str] = set()  # arrays of which parts have names
        self.rebound: set[str] = set()  # names that another block than their own has bound again
        rare = {
            self.swap: "",
            self.counter: "counters",
            self.call: "calls",
            self.view: "views",
            self.rebind: "rebinding",
            self.scatter: "vector_index",
            self.masked: "masks",
        }
        # how often, for this program: one that has much of few constructs shows what one with little of all hides
        self.weights = {rule: self.pick((1, 0, 1, 3)) for rule, name in rare.items() if not name or self.has(name)}

    # Statements --------------------------------------------------------------------------------------

    @contextmanager
    def inside(self, header: str, **changes) -> Iterator[Scope]:
        """The statements written in the meantime are the body of a compound statement, whose names are given."""
        outer, scope = self.block, self.scope
        body: Block = []
        outer.append(Compound(header, body))
        self.block = body
        self.scope = Scope(
            dict(scope.arrays),
            list(scope.floats),
            dict(scope.ints),
            list(scope.counters),
            set(scope.fixed),
            scope.loops + changes.get("loop", 0),
            scope.depth + 1,
        )
        yield self.scope
        if not body:
            body.append("pass")
        self.block, self.scope = outer, scope

    def body(self, most: int = 3) -> None:
        """One to ``most`` statements."""
        for k in range(most):
            if self.left <= 0 or k and not self.chance(60):
                return
            self.statement()

    def statement(self) -> None:
        self.left -= 1
        rules = [self.assign_element, self.assign_part, self.assign_scalar, self.assign_element, self.new_array]
        if self.scope.depth < 4:
            rules += [self.for_loop] * (2 if self.scope.depth else 5) + [self.choice] * 2
            rules += [self.while_loop] * self.has("while")
        rules += [self.leave] * (2 if self.scope.loops else 1)
        rules += [rule for rule, weight in self.weights.items() for _ in range(weight)]
        self.pick(rules)()

    def wrapped(self, value: str) -> str:
        """Bounded where statements may repeat."""
        return filled(self.pick(WRAPPERS if self.scope.loops else WRAPPERS[:3]), value)

    def update(self, target: str, value: str) -> None:
        """An assignment, plain or in place; divisors stay away from zero."""
        self.written.add(target.partition("[")[0])
        operator = self.pick(("=", "=", *AUGMENTED))
        if operator == "/=":
            value = filled(self.pick(("2.0 + {0} * {0}", "1.5 + np.sin({})")), value)
        elif operator == "*=":
            value = filled("np.cos({})", value)
        else:
            value = self.wrapped(value)
        self.block.append(f"{target} {operator} {value}")

    def assign_element(self) -> None:
        target = self.element()
        self.written.add(target.partition("[")[0])
        if self.chance(15):
            self.block.append(f"{target} = {self.scalar(1)} if {self.condition()} else {self.scalar(1)}")
        else:
            self.update(target, self.scalar())

    def assign_part(self) -> None:
        target, shape = self.place(reading=False)
        self.written.add(target.partition("[")[0])
        if self.chance(20):
            self.block.append(f"{target} = {self.scalar(1)}")
        else:
            self.update(target, self.array(shape))

    def assign_scalar(self) -> None:
        known = [f for f in self.scope.floats if f not in self.scope.fixed]
        if known and self.chance(70):
            self.update(self.pick(known), self.scalar())
            return
        names = [self.fresh("t") for _ in range(2 if self.chance(15) else 1)]
        value = self.pick("01") if self.chance(15) else self.scalar()  # an integer that may become a real number
        self.block.append(f"{' = '.join(names)} = {value}")
        self.scope.floats += names

    def new_array(self) -> None:
        name = self.fresh("V")
        source = self.pick(self.scope.arrays)
        sizes = self.scope.arrays[source]
        shape = tuple(map(Extent, sizes))
        text = ", ".join(map(str, sizes))
        zeros = f"np.zeros({text})" if len(sizes) == 1 else f"np.zeros(({text}))"
        makers = (
            lambda: zeros,
            lambda: f"np.copy({source})",
            lambda: f"{source} + {self.array(shape, 1)}",
            lambda: f"np.zeros_like({source})",
            lambda: f"np.tanh({self.array(shape, 1)}) * {source}",
        )
        self.block.append(f"{name} = {self.pick(makers)()}")
        self.scope.arrays[name] = sizes
        self.bound[name] = self.block

    def view(self) -> None:
        """A name for a part of an array, new or not: writing the one writes the other."""
        known = [n for n in self.scope.arrays if n[0] == "v" and self.bound[n] is self.block]
        sources = {n: s for n, s in self.scope.arrays.items() if n not in self.rebound}
        if known and self.chance(60):
            name = self.pick(known)
            (length,) = self.scope.arrays[name]
            places = [(n, k) for n, s in sources.items() for k, size in enumerate(s) if n != name and size >= length]
            source, axis = self.pick(places)
        else:
            name = self.fresh("v")
            source = self.pick(sources)
            axis = self.choices.number(0, len(sources[source]) - 1)
            length = self.choices.number(2, sources[source][axis])
        self.viewed.add(source)
        self.block.append(f"{name} = {self.part(source, {axis: Extent(length)}, reading=False)}")
        self.scope.arrays[name] = (length,)
        self.bound[name] = self.block

    def rebind(self) -> None:
        """The name of a local array, or of a part of one, for a new array.

        Where another block bound it there are no names for parts of it, nor is it one: such programs may be refused.
        """
        own = [n for n in self.scope.arrays if n[0] in "vV" and self.bound[n] is self.block]
        others = [n for n in self.scope.arrays if n[0] == "V" and n not in self.viewed]
        if names := [*own, *others]:
            name = self.pick(names)
            shape = tuple(map(Extent, self.scope.arrays[name]))
            self.block.append(f"{name} = {filled(self.pick(WRAPPERS[1:]), name + ' + ' + self.array(shape, 1))}")
            if self.bound[name] is not self.block:
                self.rebound.add(name)

    def scatter(self) -> None:
        name = self.pick(n for n, s in self.scope.arrays.items() if len(s) == 1 and s[0] >= self.low)
        self.update(f"{name}[idx]", self.array((Extent(self.n),), 1))

    def masked(self) -> None:
        name = self.pick(self.scope.arrays)
        self.written.add(name)
        self.block.append(f"{name}[{name} > 0.2] {self.pick(('=', '*='))} {self.pick((*LITERALS, 's'))}")

    def swap(self) -> None:
        """Two arrays swapped through a copy."""
        first = self.pick(self.scope.arrays)
        second = self.pick(n for n, s in self.scope.arrays.items() if s == self.scope.arrays[first])
        kept = self.fresh("T")
        self.written |= {first, second}
        self.block += [f"{kept} = np.copy({first})", f"{first}[:] = {second}", f"{second}[:] = {kept}"]

    def call(self) -> None:
        """A function that writes its argument."""
        text, _ = self.place(1, reading=False)
        name = text.removesuffix("[:]")
        self.written.add(name.partition("[")[0])
        self.block.append(f"relax({name}, {self.scalar(0)})")

    def counter(self) -> None:
        """An integer of the program's own, set from indices and data; it stays a valid index."""
        if not self.scope.counters or self.chance(30):
            name = self.fresh("c")
            self.block.append(f"{name} = {self.pick('01')}")
            self.scope.counters.append(name)
            self.scope.ints[name] = (0, self.low - 1)
            return
        name = self.pick(self.scope.counters)
        values = [v for v in self.indices(self.low) if not v.startswith("-")]
        self.block.append(f"{name} = {self.pick((f'({name} + 1) % {self.low}', self.pick(values)))}")

    def choice(self) -> None:
        with self.inside(f"if {self.condition()}:"):
            self.body(2)
        if self.chance(25):
            with self.inside(f"elif {self.condition()}:"):
                self.body(2)
        if self.chance(50):
            with self.inside("else:"):
                self.body(2)

    def leave(self) -> None:
        """``break``, ``continue`` or ``return``, under a condition."""
        ways = [w for w in ("break", "continue") if self.has(w) and self.scope.loops] + ["return"] * self.has("return")
        if not ways:
            return self.assign_element()
        way = self.pick(ways)
        with self.inside(f"if {self.condition()}:"):
            if self.chance(30):
                self.body(1)
            self.block.append(f"return {self.result(2)}" if way == "return" else way)

    def for_loop(self) -> None:
        name = LOOP_VARIABLES[self.scope.loops]
        header, interval = self.bounds()
        with self.inside(f"for {name} in range({header}):", loop=1) as inner:
            self.scope.ints[name] = interval
            self.body()
            body = self.block
        if self.runs(header):
            lines = [s for s in body if isinstance(s, str)]
            once = [n for n in self.bound if n[0] == "v" and sum(line.startswith(f"{n} = ") for line in lines) == 1]
            self.scope.arrays |= {n: inner.arrays[n] for n in once if n in inner.arrays}

    def runs(self, header: str) -> bool:
        """Whether a loop with these bounds certainly is entered."""
        text = header.replace("X.shape[0]", str(self.n)).replace("A.shape[1]", str(self.m))
        return not any(c.isalpha() for c in text) and len(eval(f"range({text})")) > 0

    def bounds(self) -> tuple[str, Interval]:
        """The arguments of ``range``, and the interval of the loop's variable (some interval where it is empty)."""
        n, m, low = self.n, self.m, self.low
        found = [
            ("3", (0, 2)),
            ("X.shape[0]", (0, n - 1)),
            ("A.shape[1]", (0, m - 1)),
            (f"1, {n}", (1, n - 1)),
            (f"{m - 1}, -1, -1", (0, m - 1)),
            (f"0, {n}, 2", (0, n - 1)),
            ("1, X.shape[0] - 1", (1, n - 2)),
            (f"{n - 1}, 0, -2", (1, n - 1)),
            (f"1, {m}, 3", (1, m - 1)),
            (f"{n}", (0, n - 1)),
            (f"{m}", (0, m - 1)),
            ("2, 2", (2, 2)),
            ("3, 1", (3, 3)),
            ("0", (0, 0)),
        ]
        if self.has("integers"):
            found += [("k", (0, low - 2)), ("k, 0, -1", (1, low - 1)), (f"k, {m}", (1, m - 1))]
        for name, (least, most) in self.scope.ints.items():
            if name in ("k", "mode", *self.scope.counters) or least < 0:
                continue
            found += [(name, (0, max(most - 1, 0))), (f"{name} + 1", (0, most))] * 2
            if most < n:
                found += [(f"{name} + 1, {n}", (min(least + 1, n - 1), n - 1)), (f"{n - 1}, {name}, -1", (1, n - 1))]
            if most < n and self.has("trips"):
                found += [(f"start[{name}], start[{name} + 1]", (0, low - 1)), (f"idx[{name}]", (0, low - 1))]
        if self.has("trips"):
            found += [(c, (0, low - 2)) for c in self.scope.counters]
        return self.pick(found)

    def while_loop(self) -> None:
        self.pick((self.counted_while, self.growing_while))()

    def counted_while(self) -> None:
        """A counter to a bound. It is stepped first, so that ``continue`` may follow."""
        name, most = self.fresh("w"), self.pick((2, 3, self.low))
        last = self.chance(50)
        self.block.append(f"{name} = 0")
        with self.inside(f"while {name} < {most}:", loop=1):
            kept = self.features
            if last:
                self.features = kept - {"continue"}
            else:
                self.block.append(f"{name} += 1")
            self.scope.ints[name] = (0, most - 1) if last else (1, most)
            self.body()
            self.features = kept
            if last:
                self.block.append(f"{name} += 1")

    def growing_while(self) -> None:
        """Until a float has grown past a bound."""
        name = self.fresh("q")
        self.block.append(f"{name} = {filled('0.6 + np.sin({}) ** 2', self.scalar(1))}")
        factor = self.pick(("2.0", filled("(1.5 + 0.2 * np.tanh({}))", self.scalar(1))))
        bound = self.pick(("3.0", filled("2.0 + np.cos({})", self.scalar(0))))
        with self.inside(f"while {name} < {bound}:", loop=1):
            self.block.append(f"{name} = {name} * {factor}")
            self.scope.floats.append(name)
            self.scope.fixed.add(name)
            self.body()
        self.scope.floats.append(name)

    # The whole ---------------------------------------------------------------------------------------

    def result(self, most: int) -> str:
        """A float of arrays and scalars."""
        terms = []
        names = list(self.scope.arrays)
        order = self.choices.shuffled(names)
        for name in sorted(order, key=lambda n: n not in self.written)[:most]:
            same = self.pick(n for n in names if self.scope.arrays[n] == self.scope.arrays[name])
            terms.append(self.pick((f"np.sum({name} * {same})", f"np.sum({name} * {name})", f"np.sum(np.sin({name}))")))
        return " + ".join([*terms, *self.choices.shuffled(self.scope.floats)[:2]])

    def program(self) -> str:
        """The text of a module."""
        self.statement()
        while self.left > 0 and self.chance(90):
            self.statement()
        self.block.append(f"return {self.result(3)}")
        return module(self.block, self.n, self.m, self.choices.number(0, 99))


@st.composite
def programs(draw, features: Collection[str] = FEATURES, size: int = 12) -> str:
    """Texts of programs with at most ``size`` statements (assignments, loops and choices)."""
    return Writer(Drawn(draw), features, size).program()


def sample(seed: int, features: Collection[str] = FEATURES, size: int = 12) -> str:
    """One program: the same for the same seed."""
    return Writer(Seeded(random.Random(seed)), features, size).program()
