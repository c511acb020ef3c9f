"""Expressions of random programs: integers that are valid indices, parts of arrays, floats and arrays of floats.

A :class:`Values` knows the extent of each axis and the interval of each integer, so that no index leaves its array. It
builds values from bounded functions and small coefficients, so that derivatives are of order one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import NamedTuple, TypeVar

from fuzz.choices import Choices

T = TypeVar("T")
LOOP_VARIABLES = "ijhlpq"
LITERALS = ("0.5", "1.0", "-0.3", "0.25", "0.8", "-0.7", "1.5")
UNARY = (
    "np.sin({})",
    "np.tanh({})",
    "np.cos({})",
    "np.exp(-{0} * {0})",
    "np.sqrt(1.0 + {0} * {0})",
    "-{}",
    "np.abs({})",
)
BINARY = (
    "{} + {}",
    "{} * {}",
    "{} - {}",
    "{0} / (2.0 + {1} * {1})",
    "np.maximum({}, {})",
    "np.minimum({}, {})",
    "blend({}, {})",
    "twice({}, {})",
)
REDUCTIONS = ("np.sum({})", "np.max({})", "np.mean({})", "total({}, 0.5)")
GUARDED = (  # arms that are not finite where they are not chosen
    "np.where({0} > 0.2, np.log({0}), {1})",
    "np.where({0} > 0.2, np.sqrt({0}), {1})",
    "np.where(np.abs({0}) > 0.2, {1} / {0}, {0})",
    "np.where({0} < 0.3, {1}, np.exp(-1000.0 * {0}) + {1})",
    "np.minimum(np.exp(800.0 * {0}), 2.0 + {1} * {1})",
)
COMPLEX = (
    "np.real(({0} + 1j * {1}) * ({1} - 0.5j))",
    "np.abs({0} + 1j * (1.5 + {1} * {1}))",
    "np.imag(np.exp(1j * {0}) * {1})",
    "np.angle(2.0 + {0} * {0} + 1j * {1})",
)


class Extent(NamedTuple):
    """The length of an axis or slice: ``constant + sign * variable``."""

    constant: int
    sign: int = 0
    variable: str = ""

    def __str__(self) -> str:
        return plus(self.variable, self.constant) if self.sign > 0 else f"{self.constant} - {self.variable}"


Shape = tuple[Extent, ...]
Interval = tuple[int, int]


@dataclass
class Scope:
    """The names a statement may use."""

    arrays: dict[str, tuple[int, ...]]
    floats: list[str]
    ints: dict[str, Interval]
    counters: list[str] = field(default_factory=list)  # integers that statements may set
    fixed: set[str] = field(default_factory=set)  # floats that statements must leave alone
    loops: int = 0
    depth: int = 0


def plus(text: str, constant: int) -> str:
    """``text + constant`` as one would write it."""
    return text if constant == 0 else f"{text} {'+' if constant > 0 else '-'} {abs(constant)}"


def grouped(text: str) -> str:
    """An operand, in parentheses where it needs them."""
    depth, apart = 0, text.startswith("-")
    for c in text:
        depth += (c in "([") - (c in ")]")
        apart |= c == " " and depth == 0
    return f"({text})" if apart else text


def filled(pattern: str, *operands: str) -> str:
    """A pattern with operands; those that are a call's arguments need no parentheses."""
    call = "({})" in pattern or "({}, {})" in pattern or pattern == "{}"
    return pattern.format(*(operands if call else map(grouped, operands)))


class Values:
    """Draws expressions from the names of a scope, as text."""

    def __init__(self, choices: Choices, features: Collection[str], size: int) -> None:
        self.choices, self.features, self.left = choices, frozenset(features), size
        self.n, self.m = choices.number(3, 5), choices.number(3, 5)
        self.low = min(self.n, self.m)
        n, m = self.n, self.m
        self.scope = Scope(
            {"X": (n,), "Y": (m,), "Z": (n,), "A": (n, m), "B": (n, m), "C": (m, n)},
            ["s", "r"],
            {"k": (1, self.low - 1), "mode": (0, 3)} if self.has("integers") else {},
        )
        self.count = 0

    def pick(self, options: Iterable[T]) -> T:
        """One of the options; the first ones are the simplest."""
        known = list(options)
        return known[self.choices.number(0, len(known) - 1)]

    def chance(self, percent: int) -> bool:
        """Yes, in so many of a hundred cases; no is simpler."""
        return self.choices.number(0, 99) >= 100 - percent

    def has(self, feature: str) -> bool:
        return feature in self.features

    def fresh(self, stem: str) -> str:
        self.count += 1
        return f"{stem}{self.count}"

    # Integers ----------------------------------------------------------------------------------------

    def indices(self, size: int) -> list[str]:
        """Integer expressions that are in ``0 .. size - 1`` (or negative constants, from the end)."""
        found = [str(c) for c in (0, 1, size - 1, -1, -2)]
        for name, (low, high) in self.scope.ints.items():
            least = -size if name in LOOP_VARIABLES else 0  # from the end
            inside = [plus(name, c) for c in (0, 1, -1, 2) if low + c >= least and high + c < size]
            found += inside * 3
            if low >= 0 and high < size:
                found.append(f"{size - 1} - {name}")
            if low >= 0:
                found += [f"({name} + 1) % {size}", f"{name} % {size}"]
            if low >= 0 and high < self.n and self.low <= size and self.has("indices"):
                found += [f"idx[{name}]"] * 2
        return found

    def index(self, size: int) -> str:
        return self.pick(self.indices(size))

    # Slices ------------------------------------------------------------------------------------------

    def slices(self, size: int, wanted: Extent) -> list[str]:
        """Slices of an axis that have the wanted length."""
        return self._constant_slices(size, wanted.constant) if not wanted.sign else self._moving(size, wanted)

    def _constant_slices(self, size: int, length: int) -> list[str]:
        found = [f"{low or ''}:{low + length if low + length < size else ''}" for low in range(size - length + 1)]
        found += [f"{low or ''}:{low + length - size}" for low in range(size - length)]
        for step in (2, 3):
            span = (length - 1) * step + 1
            found += [f"{low or ''}:{low + span}:{step}" for low in range(size - span + 1) if length > 1]
            found += [f"{low or ''}::{step}" for low in range(step) if -(-(size - low) // step) == length]
        found += ["::-1"] if size == length else []
        return found + [
            f"{name}:{plus(name, length)}"
            for name, (low, high) in self.scope.ints.items()
            if low >= 0 and high + length <= size
        ]

    def _moving(self, size: int, wanted: Extent) -> list[str]:
        low, high = self.scope.ints[wanted.variable]
        if wanted.sign > 0:
            found = [f":{wanted}"] if high + wanted.constant <= size else []
            return found + ([f"1:{wanted} + 1"] if high + wanted.constant < size else [])
        shift = size - wanted.constant
        found = [f"{plus(wanted.variable, shift)}:"] if low + shift >= 0 else []
        return found + ([f":{wanted}"] if wanted.constant - low <= size else [])

    def movers(self) -> list[tuple[str, Interval]]:
        """Integers that may bound a slice: variables of ``for`` loops, and others with the feature."""
        known = [(k, v) for k, v in self.scope.ints.items() if v[0] >= 0]
        return [(k, v) for k, v in known if self.has("data_slices") or k in LOOP_VARIABLES]

    def extents(self, size: int) -> list[Extent]:
        """Lengths a slice of this axis can have."""
        found = [Extent(size)] * 4 + [Extent(c) for c in range(1, size)]
        for name, (_, high) in self.movers():
            found += [Extent(c, 1, name) for c in (0, 1) if high + c <= size]
            found += [Extent(size - c, -1, name) for c in (0, 1) if high + c <= size]
        return found

    def never_empty(self, shape: Shape) -> bool:
        return all(e.constant + min(e.sign * b for b in self.scope.ints.get(e.variable, (0, 0))) > 0 for e in shape)

    def place(self, dims: int | None = None, reading: bool = True) -> tuple[str, Shape]:
        """Some part of some array, and its shape."""
        name = self.pick(n for n, s in self.scope.arrays.items() if dims is None or len(s) >= dims)
        sizes = self.scope.arrays[name]
        kept = len(sizes) if dims is None else dims
        sliced = sorted(self.choices.shuffled(range(len(sizes)))[:kept])
        shape = {axis: self.pick(self.extents(sizes[axis])) for axis in sliced}
        return self.part(name, shape, reading), tuple(shape.values())

    def part(self, name: str, shape: dict[int, Extent], reading: bool = True) -> str:
        """``name[...]`` with these lengths of the sliced axes, and indices in the others."""
        sizes = self.scope.arrays[name]
        texts = []
        for axis, size in enumerate(sizes):
            if axis in shape:
                options = self.slices(size, shape[axis])
                texts.append(self.pick(o for o in options if reading or o != "::-1"))
            else:
                texts.append(self.index(size))
        if texts == [":"] * len(texts) and reading:
            return name
        return f"{name}[{', '.join(texts)}]"

    def homes(self, shape: Shape) -> list[tuple[str, tuple[int, ...]]]:
        """Arrays, and axes of them, that have a part of this shape."""
        found = []
        for name, sizes in self.scope.arrays.items():
            if len(sizes) == len(shape):
                choices: list[tuple[int, ...]] = [tuple(range(len(sizes)))]
            else:
                choices = [(axis,) for axis in range(len(sizes))] if len(shape) == 1 else []
            for axes in choices:
                if all(self.slices(sizes[a], e) for a, e in zip(axes, shape, strict=True)):
                    found.append((name, axes))
        return found

    # Values ------------------------------------------------------------------------------------------

    def element(self) -> str:
        name = self.pick(self.scope.arrays)
        return f"{name}[{', '.join(self.index(d) for d in self.scope.arrays[name])}]"

    def scalar(self, depth: int = 2) -> str:
        """A float expression."""
        kinds = ["leaf", "leaf", "element", "unary", "binary", "binary", "reduce", "integer"]
        kind = self.pick([*kinds, "complex"] if self.has("complex") else kinds)
        if kind == "leaf":
            return self.pick([*self.scope.floats, *LITERALS])
        if kind == "element" or depth == 0:
            return self.element()
        if kind == "integer" and self.scope.ints:
            return f"0.1 * {self.pick(self.scope.ints)}"
        if kind == "unary":
            return filled(self.pick(UNARY), self.scalar(depth - 1))
        if kind == "reduce":
            return self.reduction(depth - 1)
        if kind == "complex":
            return filled(self.pick(COMPLEX), self.scalar(depth - 1), self.scalar(depth - 1))
        return filled(self.pick(BINARY), self.scalar(depth - 1), self.scalar(depth - 1))

    def reduction(self, depth: int) -> str:
        text, shape = self.place(self.pick((1, 1, 2)))
        if len(shape) == 1 and self.chance(40):
            other = self.read(shape)
            return f"np.dot({text}, {other})" if self.chance(50) else f"{grouped(text)} @ {grouped(other)}"
        wanted = REDUCTIONS if self.never_empty(shape) else REDUCTIONS[:1]
        wanted = [w for w in wanted if len(shape) == 1 or "total" not in w]
        value = self.array(shape, depth) if self.chance(50) else text
        return self.pick(wanted).format(value)

    def read(self, shape: Shape) -> str:
        """A part of an array with this shape."""
        if not (homes := self.homes(shape)):
            return self.pick(LITERALS)
        name, axes = self.pick(homes)
        return self.part(name, dict(zip(axes, shape, strict=True)))

    def array(self, shape: Shape, depth: int = 2) -> str:
        """An array expression of this shape."""
        if depth == 0:
            return self.read(shape)
        kinds = ["read", "scaled", "binary", "unary", "where", "product", "broadcast", "gather"]
        kind = self.pick(kinds + [k for k in ("guards", "complex") if self.has(k)])
        if kind == "scaled":
            return filled(self.pick(BINARY[:4]), self.array(shape, depth - 1), self.scalar(depth - 1))
        if kind == "binary":
            return filled(self.pick(BINARY), self.array(shape, depth - 1), self.array(shape, depth - 1))
        if kind == "unary":
            return filled(self.pick(UNARY), self.array(shape, depth - 1))
        if kind in ("guards", "complex"):
            patterns = GUARDED if kind == "guards" else COMPLEX
            return filled(self.pick(patterns), self.read(shape), self.array(shape, depth - 1))
        if kind == "where":
            left, then, other = (self.read(shape) for _ in range(3))
            return f"np.where({left} > {self.pick((other, '0.1'))}, {then}, {self.array(shape, depth - 1)})"
        special = {"product": self.product, "broadcast": self.broadcast, "gather": self.gather}.get(kind)
        return special and special(shape) or self.read(shape)

    def product(self, shape: Shape) -> str | None:
        """A matrix product of this shape, if there is one."""
        if any(e.sign for e in shape):
            return None
        length = Extent(self.pick((self.n, self.m)))
        left, right = (*shape[:-1], length), (length, *shape[1:]) if len(shape) > 1 else (length, *shape)
        if len(shape) == 1 and self.chance(50):
            left, right = (*shape, length), (length,)
        if not self.homes(left) or not self.homes(right):
            return None
        return f"{self.read(left)} @ {self.read(right)}"

    def broadcast(self, shape: Shape) -> str | None:
        """A row, a column or a transposed array in this shape."""
        if len(shape) != 2:
            return None
        if self.chance(40):
            names = [n for n, s in self.scope.arrays.items() if tuple(map(Extent, reversed(s))) == shape]
            return f"{self.pick(names)}.T" if names else None
        row, column = self.read(shape[1:]), self.read(shape[:1])
        return self.pick((f"{self.read(shape)} * {row}", f"np.outer({column}, {row})"))

    def gather(self, shape: Shape) -> str | None:
        """``X[idx]``: one element for each index."""
        if not self.has("vector_index") or shape != (Extent(self.n),):
            return None
        return f"{self.pick(n for n, s in self.scope.arrays.items() if len(s) == 1 and s[0] >= self.low)}[idx]"

    def condition(self) -> str:
        """A comparison of data, of indices, or of integers that are data."""
        kind = self.pick(("data", "index", "integer", "both"))
        if kind == "both":
            return f"{self.condition()} {self.pick(('and', 'or'))} {self.condition()}"
        ints = [n for n in self.scope.ints if n not in ("k", "mode")]
        if kind == "index" and ints:
            return self.pick(("{0} > 1", "{0} == 2", "{0} % 2 == 0", "{0} < {1}", "{0} != {1}")).format(
                self.pick(ints), self.pick(self.scope.ints)
            )
        if kind == "integer":
            found = [f"mode > {self.pick('012')}", "k == 2"] if self.has("integers") else []
            found += [f"idx[{self.index(self.n)}] < 2"] if self.has("indices") else []
            if found:
                return self.pick(found)
        return f"{self.scalar(1)} {self.pick('><')} {self.pick((self.scalar(0), '0.1', '-0.2'))}"
