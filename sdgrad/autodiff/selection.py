"""Tell a cotangent that was not selected from one that is zero.

What a choice did not select contributes nothing, whatever the derivative of the other arm is there: not even a product
of zero and infinity. A cotangent that was selected, and is zero, contributes what the product says, NaN included. So a
cotangent carries the conditions under which it was selected. They are applied once, where it is stored or added to one
with other conditions::

    y = p * log(p) if p > 0 else 0      with the cotangent g of y:

    g * log(p)      selected if p > 0   (-inf at 0, and never used there)
    g * p * (1/p)   selected if p > 0
    gradient_p += g * log(p) + g if p > 0 else 0
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from enum import IntEnum
from functools import partial, reduce

from sdgrad.symbolic import code
from sdgrad.symbolic.derivatives import Partial

Define = Callable[[ast.expr], str]
"""Defines a name for an expression, and returns it."""


@dataclass(frozen=True)
class Condition:
    """A condition under which a cotangent was selected."""

    text: str
    test: ast.expr = field(compare=False)
    holds: bool = True

    @staticmethod
    def of(test: ast.expr) -> Condition:
        """Return the condition of an expression; a negation is the opposite of its operand."""
        holds = True
        while isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            test, holds = test.operand, not holds
        return Condition(ast.unparse(test), test, holds)

    @property
    def expr(self) -> ast.expr:
        """Return the condition as an expression."""
        return self.test if self.holds else ast.UnaryOp(op=ast.Not(), operand=self.test)

    def is_opposite_of(self, other: Condition) -> bool:
        """True if exactly one of two conditions holds."""
        return self.text == other.text and self.holds != other.holds


Conditions = tuple[Condition, ...]


class Doubt(IntEnum):
    """What is known of the zeros of a cotangent that comes from memory: whether they were selected.

    Zeros in doubt hide derivatives that are not finite, as the *strong zero* of Griewank & Walther (2008, 3.2) does:
    those of functions with poles, or that overflow; where arms may not have selected an element, all but those of
    products.
    """

    NONE = 0
    MEMORY = 1
    ARMS = 2

    def hides(self, by: Partial) -> bool:
        """True if a zero passes nothing on, whatever a partial is."""
        if by.singular or by.overflows:
            return self != Doubt.NONE
        return self == Doubt.ARMS and not by.is_constant and not isinstance(by.factor, ast.Name)


@dataclass(frozen=True)
class Cotangent:
    """A contribution to the cotangent of a value: a name, and the conditions under which it was selected.

    ``exact`` tells that the name is zero where they do not hold; otherwise it may be anything there. Further conditions
    count where a derivative is infinite only: under those of ``weighed`` the value has a weight other than zero (which
    has no derivative itself), under those of ``depends`` the result still depends on the value (``tanh`` of a large
    value does not).
    """

    name: str
    when: Conditions = ()
    exact: bool = True
    weighed: Conditions = ()
    depends: Conditions = ()
    doubt: Doubt = Doubt.NONE

    @property
    def is_whole(self) -> bool:
        """True if it was selected, whatever the data are."""
        return not self.when and not self.doubt


def pulled(cotangent: Cotangent, name: str, by: Partial, weight: str | None) -> Cotangent:
    """Return the contribution to an operand, with the conditions of the result's cotangent and of the partial.

    A pole (``log`` at 0) has an infinite derivative at an ordinary argument, unlike a function that overflows: there a
    result that does not depend on the value any more says nothing of the limit.

    :param by: the partial.
    :param weight: the partial, if it is the name of a value without a derivative.
    """
    when, weighed, depends = cotangent.when, cotangent.weighed, cotangent.depends
    exact = cotangent.exact and by.is_constant and by.guard is None
    if by.steep:
        when, weighed = _united(when, weighed), ()
    if by.overflows:
        when = _united(when, depends)
    if by.overflows or by.singular:
        depends = ()
    if by.guard is not None:
        when = _united(when, (Condition.of(by.guard),))
    if weight is not None:
        test = ast.Compare(left=code.name(weight), ops=[ast.NotEq()], comparators=[code.constant(0)])
        weighed = _united(weighed, (Condition.of(test),))
    if by.depends is not None:
        depends = _united(depends, (Condition.of(by.depends),))
    return Cotangent(name, when, exact or not when, weighed, depends, cotangent.doubt)


def _united(a: Conditions, b: Conditions) -> Conditions:
    """Return the conditions of both, each once."""
    return tuple(dict.fromkeys((*a, *b)))


def applied(name: str, conditions: Conditions, let: Define, zero: ast.expr) -> str:
    """Return the name of a value where all conditions hold, else zero.

    They are applied one by one: GCC vectorizes that, and not their conjunction.
    """
    for condition in conditions:
        name = let(code.choose(condition.expr, code.name(name), zero))
    return name


def _all(conditions: Conditions) -> ast.expr:
    """Return the conjunction of conditions."""
    return reduce(partial(code.binary, ast.BitAnd), [c.expr for c in conditions])


def settled(cotangent: Cotangent, let: Define, zero: ast.expr) -> Cotangent:
    """Apply the conditions of a cotangent that is not exact."""
    if cotangent.exact:
        return cotangent
    return replace(cotangent, name=applied(cotangent.name, cotangent.when, let, zero), exact=True)


def added(parts: Sequence[Cotangent], let: Define, zero: ast.expr) -> Cotangent:
    """Return the sum of cotangents: the conditions that all share stay to be applied, the others are applied.

    The sum was selected where one of its parts was.
    """
    result = parts[0]
    for part in parts[1:]:
        result = _sum(result, part, let, zero)
    return result


def _sum(a: Cotangent, b: Cotangent, let: Define, zero: ast.expr) -> Cotangent:
    """Return the sum of two cotangents."""
    shared = tuple(c for c in a.when if c in b.when)
    own, other = (tuple(c for c in x.when if c not in shared) for x in (a, b))
    if len(own) == len(other) == 1 and own[0].is_opposite_of(other[0]):
        name, when = let(code.choose(_all(own), code.name(a.name), code.name(b.name))), shared
    else:
        first, second = (
            code.name(x.name if x.exact else applied(x.name, apart, let, zero)) for x, apart in ((a, own), (b, other))
        )
        name, when = let(code.binary(ast.Add, first, second)), (*shared, *_some(own, other, let))
    return Cotangent(
        name,
        when,
        exact=not shared or (a.exact and b.exact),
        weighed=_some(a.weighed, b.weighed, let),
        depends=_some(a.depends, b.depends, let),
        doubt=min(a.doubt, b.doubt),
    )


def _some(a: Conditions, b: Conditions, let: Define) -> Conditions:
    """Return the condition that one of two conjunctions holds; none if that is always so."""
    if a == b:
        return a
    return (Condition.of(code.name(let(code.binary(ast.BitOr, _all(a), _all(b))))),) if a and b else ()
