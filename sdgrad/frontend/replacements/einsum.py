"""``numpy.einsum``: two operands at a time, as a product of matrices or element by element."""

from collections import Counter

from sdgrad.frontend.replacements.emit import Emitter, element_count, same_size
from sdgrad.frontend.replacements.indexing import gather
from sdgrad.frontend.replacements.linalg import matmul
from sdgrad.frontend.replacements.operands import Operand, Size
from sdgrad.frontend.replacements.promotion import common_type
from sdgrad.frontend.replacements.register import numpy_function
from sdgrad.frontend.replacements.shaping import transpose


def _parse(emitter: Emitter, subscripts, count: int) -> tuple[list[str], str]:
    """The index letters of every operand and of the result."""
    text = str(getattr(subscripts, "value", subscripts)).replace(" ", "")
    left, arrow, result = text.partition("->")
    inputs = left.split(",")
    letters = Counter(left.replace(",", ""))
    if not arrow:
        result = "".join(sorted(letter for letter, times in letters.items() if times == 1))
    if not all(part.isalpha() or not part for part in (*inputs, result)):
        raise ValueError(f"{emitter.function}: subscripts {text!r} may hold letters, commas and one arrow only")
    if len(inputs) != count or len(set(result)) != len(result) or not set(result) <= set(letters):
        raise ValueError(f"{emitter.function}: subscripts {text!r} do not fit {count} operands")
    return inputs, result


def _sizes(emitter: Emitter, inputs, operands) -> dict[str, Size]:
    sizes: dict[str, Size] = {}
    for letters, operand in zip(inputs, operands, strict=True):
        if len(letters) != len(operand.shape):
            raise ValueError(
                f"{emitter.function}: subscripts {letters!r} for an operand of {len(operand.shape)} dimensions"
            )
        for letter, size in zip(letters, operand.shape, strict=True):
            if not same_size(sizes.setdefault(letter, size), size):
                raise ValueError(f"{emitter.function}: subscript {letter!r} has sizes {sizes[letter]} and {size}")
    return sizes


def _sum_out(emitter: Emitter, letters: str, operand: Operand, needed: set) -> tuple[str, Operand]:
    """Takes diagonals of repeated letters, and sums over letters that nothing else needs."""
    distinct = "".join(dict.fromkeys(letters))
    if len(distinct) < len(letters):
        shape = tuple(operand.shape[letters.index(letter)] for letter in distinct)
        index = [f"__i{distinct.index(letter)}" for letter in letters]
        operand = emitter.operand(gather(emitter, "diagonal", operand, shape, index))
    axes = tuple(k for k, letter in enumerate(distinct) if letter not in needed)
    if axes:
        operand = emitter.operand(emitter.reduce("add", "lambda x, y: x + y", operand, axes, 0))
    return "".join(letter for letter in distinct if letter in needed), operand


def _arranged(emitter: Emitter, letters: str, operand: Operand, groups, sizes) -> Operand:
    """``operand`` with its axes in the order of ``groups``, every group merged into one axis."""
    order = [letters.index(letter) for group in groups for letter in group]
    moved = transpose(emitter, operand, order)
    return emitter.operand(emitter.view(moved, tuple(element_count([sizes[x] for x in g]) for g in groups)))


def _contract(emitter: Emitter, left, right, needed: set, sizes) -> tuple[str, Operand]:
    (a, x), (b, y) = left, right
    shared = [letter for letter in a if letter in b]
    batch = "".join(letter for letter in shared if letter in needed)
    summed = "".join(letter for letter in shared if letter not in needed)
    rows, columns = ("".join(letter for letter in p if letter not in q) for p, q in ((a, b), (b, a)))
    letters = batch + rows + columns
    if not summed:
        reads = [o.read_at(*(f"__i{letters.index(letter)}" for letter in p)) for p, o in (left, right)]
        return letters, emitter.operand(
            emitter.compute("product", "{0} * {1}", reads, shape=tuple(sizes[x] for x in letters))
        )
    batched = [batch] if batch else []
    first = _arranged(emitter, a, x, [*batched, *([rows] if rows or batch else []), summed], sizes)
    second = _arranged(emitter, b, y, [*batched, summed, *([columns] if columns or batch else [])], sizes)
    product = matmul(emitter, first, second)
    shape = tuple(sizes[letter] for letter in letters)
    return letters, emitter.operand(emitter.view(product, shape) if shape else product)


@numpy_function("einsum", "dace.einsum")
def einsum(emitter, subscripts, *operands):
    operands = [emitter.array(o, "operands") for o in operands]
    inputs, result = _parse(emitter, subscripts, len(operands))
    dtype = common_type([o.kind for o in operands])
    sizes = _sizes(emitter, inputs, operands)
    terms = list(zip(inputs, (emitter.cast(o, dtype) for o in operands), strict=True))
    terms = [
        _sum_out(emitter, p, o, {*result, *"".join(inputs[:k] + inputs[k + 1 :])}) for k, (p, o) in enumerate(terms)
    ]
    letters, value = terms.pop(0)
    while terms:
        term = terms.pop(0)
        needed = {*result, *"".join(p for p, _ in terms)}
        letters, value = _contract(emitter, (letters, value), term, needed, sizes)
    letters, value = _sum_out(emitter, letters, value, set(result))
    return (
        transpose(emitter, value, [letters.index(letter) for letter in result]) if len(result) > 1 else value.container
    )
