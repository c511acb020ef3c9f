"""Subscripts that DaCe's visitor refuses or reads wrongly: negative steps, and slices of one element.

The visitor has no table for subscripts, so two of its methods are wrapped. A subscript with negative steps is visited
with whole or increasing slices in their place, and what it yields is reversed by a map. A slice of one element
(``A[:, :1]``) keeps its axis, which the visitor drops.
"""

import ast
import copy
import dataclasses
import functools

from dace import Memlet, data, subsets, symbolic
from dace.frontend.python import memlet_parser, newast

from sdgrad.frontend.replacements.emit import Emitter
from sdgrad.frontend.replacements.indexing import text
from sdgrad.frontend.replacements.operands import Size
from sdgrad.frontend.replacements.visiting import wrap_visitor


def _entries(subscript: ast.Subscript) -> list[ast.expr]:
    return list(subscript.slice.elts) if isinstance(subscript.slice, ast.Tuple) else [subscript.slice]


def _step(entry) -> int | None:
    """The step of a slice with a constant negative step."""
    if not isinstance(entry, ast.Slice) or entry.step is None:
        return None
    try:
        step = ast.literal_eval(entry.step)
    except ValueError:
        return None
    return step if isinstance(step, int) and step < 0 else None


def _has_negative_step(node) -> bool:
    return isinstance(node, ast.Subscript) and any(_step(e) is not None for e in _entries(node))


def _with_entries(subscript: ast.Subscript, entries) -> ast.Subscript:
    changed = copy.copy(subscript)
    changed.slice = ast.copy_location(ast.Tuple(entries, ast.Load()), subscript) if len(entries) > 1 else entries[0]
    return changed


def _is_new_axis(entry) -> bool:
    return isinstance(entry, ast.Constant) and entry.value is None


def _is_ellipsis(entry) -> bool:
    return isinstance(entry, ast.Constant) and entry.value is Ellipsis


def _dimensions(entries, ndim: int) -> list[int | None]:
    """The dimension of the container that each entry indexes."""
    indexed = sum(not _is_new_axis(e) and not _is_ellipsis(e) for e in entries)
    result, position = [], 0
    for entry in entries:
        plain = not _is_new_axis(entry) and not _is_ellipsis(entry)
        result.append(position if plain else None)
        position += 1 if plain else ndim - indexed if _is_ellipsis(entry) else 0
    return result


def _kept_axes(entries, ndim: int) -> list[int | None]:
    """The axis of the result that each slice becomes, where every other entry is one element."""
    result, axis = [], 0
    indexed = sum(not _is_new_axis(e) and not _is_ellipsis(e) for e in entries)
    for entry in entries:
        result.append(axis if isinstance(entry, ast.Slice) else None)
        axis += ndim - indexed if _is_ellipsis(entry) else isinstance(entry, ast.Slice) or _is_new_axis(entry)
    return result


def _bound(visitor, node, size, default, step):
    """A bound of a slice with a negative step, as a position from the start."""
    if node is None:
        return default
    ((value, _, _),) = visitor._parse_subscript_slice(ast.Slice(lower=node, upper=None, step=None))
    if (value < 0) == True:  # noqa: E712, the bound may be symbolic
        value = value + size
    if isinstance(size, int) and isinstance(value, int):
        return max(-1, min(value, size - 1))
    return value


def _positions(visitor, entry: ast.expr, size: Size) -> tuple[Size, Size, int]:
    """First position, number of positions, and step of a decreasing slice."""
    step = _step(entry)
    if not isinstance(entry, ast.Slice) or step is None:
        raise TypeError(f"{ast.unparse(entry)} is not a slice with a constant negative step")
    size = int(size) if getattr(size, "is_Integer", False) else size
    start, stop = _bound(visitor, entry.lower, size, size - 1, step), _bound(visitor, entry.upper, size, -1, step)
    extent = start - stop
    length = (
        -(-extent // -step) if isinstance(extent, int) else extent if step == -1 else symbolic.int_ceil(extent, -step)
    )
    if (length <= 0) == True:  # noqa: E712
        raise ValueError(f"slice {ast.unparse(entry)} of an axis of {size} elements is empty")
    return start, length, step


def _reversed(emitter: Emitter, container: str, decreasing: dict[int, tuple]) -> str:
    """``container`` with some axes read from a position downwards."""
    operand = emitter.array(container)
    shape = tuple(decreasing[k][1] if k in decreasing else n for k, n in enumerate(operand.shape))
    index = [
        f"{text(decreasing[k][0])} + {decreasing[k][2]} * __i{k}" if k in decreasing else f"__i{k}"
        for k in range(len(shape))
    ]
    return emitter.compute("reversed", "{0}", [operand.read_at(*index)], shape=shape)


def _container(visitor, node: ast.Subscript):
    """The subscripted container, evaluated once: its name and descriptor, and the node that now names it."""
    ((name, _),) = visitor._gettype(node.value)
    named = copy.copy(node)
    named.value = ast.copy_location(ast.Name(id=name, ctx=ast.Load()), node.value)
    return named, visitor.defined[name] if name in visitor.defined else visitor.sdfg.arrays[name]


def read_decreasing(visitor, visit, node: ast.Subscript) -> str:
    """The value of a subscript with decreasing slices."""
    entries = _entries(node)
    named, desc = _container(visitor, node)
    ndim = len(desc.shape)
    whole = [ast.copy_location(ast.Slice(), e) if _step(e) is not None else e for e in entries]
    name = visit(visitor, _with_entries(named, whole))
    expected = ndim - sum(not isinstance(e, ast.Slice) and not _is_new_axis(e) and not _is_ellipsis(e) for e in entries)
    expected += sum(map(_is_new_axis, entries))
    emitter = Emitter(visitor, f"slice {ast.unparse(node.slice)}")
    if len(emitter.array(name).shape) != expected:
        raise TypeError(f"{emitter.function}: a negative step cannot be combined with index arrays")
    sizes = dict(
        zip(
            _kept_axes(entries, ndim),
            (desc.shape[d] if d is not None else None for d in _dimensions(entries, ndim)),
            strict=True,
        )
    )
    decreasing = {
        axis: _positions(visitor, e, sizes[axis])
        for axis, e in zip(_kept_axes(entries, ndim), entries, strict=True)
        if axis is not None and _step(e) is not None
    }
    result = _reversed(emitter, name, decreasing)
    emitter.finish()
    return result


def write_decreasing(visitor, assign, node, target: ast.Subscript, op, *args, **kwargs):
    """``x[decreasing] = value`` as ``x[the same, increasing] = value reversed``."""
    if not isinstance(target.value, ast.Name):
        raise TypeError(f"assignment to {ast.unparse(target)}: name the sliced array first to use a negative step")
    entries = _entries(target)
    shape = visitor.defined[visitor.visit(ast.Name(id=target.value.id, ctx=ast.Load()))].shape
    ((value, _),) = visitor._gettype(node.value)
    increasing, mirrored = [], set()
    for entry, dimension, axis in zip(
        entries, _dimensions(entries, len(shape)), _kept_axes(entries, len(shape)), strict=True
    ):
        if _step(entry) is None:
            increasing.append(entry)
            continue
        start, length, step = _positions(visitor, entry, shape[dimension])
        first = start + step * (length - 1)
        increasing.append(_increasing_slice(entry, first, start + 1, -step))
        mirrored.add(axis)
    total = len(_kept_axes([e for e in entries if not _is_ellipsis(e)], len(shape)))
    rank = len(shape) - sum(not isinstance(e, ast.Slice) and not _is_ellipsis(e) for e in entries)
    changed = copy.copy(node)
    changed.value = _named_value(visitor, node, _mirror(visitor, value, mirrored, rank, total))
    return assign(visitor, changed, _with_entries(target, increasing), op, *args, **kwargs)


def _increasing_slice(entry, start, stop, step) -> ast.Slice:
    bounds = [ast.parse(symbolic.symstr(b), mode="eval").body for b in (start, stop, step)]
    return ast.fix_missing_locations(ast.copy_location(ast.Slice(*bounds), entry))


def _mirror(visitor, value, axes, rank: int, total: int):
    """``value`` reversed along those target axes over which it does not broadcast."""
    emitter = Emitter(visitor, "assignment")
    operand = emitter.operand(value)
    lead = rank - len(operand.shape)
    own = [k - lead for k in axes if k >= lead and operand.shape[k - lead] != 1]
    if not own:
        return value
    result = _reversed(emitter, operand.name, {k: (operand.shape[k] - 1, operand.shape[k], -1) for k in own})
    emitter.finish()
    return result


def _named_value(visitor, node, value) -> ast.expr:
    if isinstance(value, str):
        visitor.variables[value] = value
        return ast.copy_location(ast.Name(id=value, ctx=ast.Load()), node.value)
    return node.value


def _is_slice(entry) -> bool:
    return isinstance(entry, ast.Slice) or (isinstance(entry, ast.Constant) and isinstance(entry.value, slice))


def _result_dimensions(entries, ndim: int) -> list[int | None]:
    """For every axis of a subscript's value, the dimension it comes from, or None where it is new."""
    result: list[int | None] = []
    position = 0
    indexed = sum(not _is_new_axis(e) and not _is_ellipsis(e) for e in entries)
    for entry in [*entries, *([] if any(map(_is_ellipsis, entries)) else [ast.Constant(Ellipsis)])]:
        if _is_new_axis(entry):
            result.append(None)
        elif _is_ellipsis(entry):
            result += range(position, position + ndim - indexed)
            position += ndim - indexed
        else:
            result += [position] if _is_slice(entry) else []
            position += 1
    return result


def keep_unit_axes(visitor, entries, node: ast.Subscript, name):
    """Gives the view that the visitor made for a subscript the axes of one element that it left out."""
    if not isinstance(name, str) or name not in visitor.sdfg.arrays or not isinstance(node.value, ast.Name):
        return name
    source = visitor.sdfg.arrays.get(node.value.id)
    desc = visitor.sdfg.arrays[name]
    if source is None or isinstance(source, data.Scalar):
        return name
    axes = _result_dimensions(entries, len(source.shape))
    if isinstance(desc, data.Scalar):
        return Emitter(visitor, "slice").view(name, (1,) * len(axes)) if axes else name
    if not isinstance(desc, data.View) or len(axes) == len(desc.shape) or name not in visitor.views:
        return name
    container, memlet = visitor.views[name]
    sizes, steps = memlet.subset.size(), [step for _, _, step in memlet.subset.ndrange()]
    shape = [1 if k is None else sizes[k] for k in axes]
    strides = [1 if k is None else source.strides[k] * steps[k] for k in axes]
    desc.set_shape(shape, strides=strides, total_size=0 if 0 in shape else None)
    seen = subsets.Range.from_array(desc)
    visitor.views[name] = (container, Memlet(data=container, subset=memlet.subset, other_subset=seen))
    return name


def _wrap_visit(visit):
    @functools.wraps(visit)
    def visit_Subscript(self, node, inference=False):
        if inference or isinstance(node.ctx, ast.Store):
            return visit(self, node, inference)
        if _has_negative_step(node):
            return read_decreasing(self, visit_Subscript, node)
        entries = _entries(node)
        # The visitor puts the container's name in the place of the expression that yields it
        return keep_unit_axes(self, entries, node, visit(self, node, inference))

    return visit_Subscript


def _wrap_assign(assign):
    @functools.wraps(assign)
    def _visit_assign(self, node, node_target, op, *args, **kwargs):
        if _has_negative_step(node_target) and isinstance(node_target.value, ast.Name):
            return write_decreasing(self, assign, node, node_target, op, *args, **kwargs)
        if any(_has_negative_step(n) for n in ast.walk(node_target)):
            raise TypeError(
                f"assignment to {ast.unparse(node_target)}: name the sliced array first to use a negative step"
            )
        return assign(self, node, node_target, op, *args, **kwargs)

    return _visit_assign


def _as_numpy_has_it(parse):
    @functools.wraps(parse)
    def parse_memlet(visitor, known, *args, **kwargs):
        expr = parse(visitor, known, *args, **kwargs)
        shape = known[expr.name].shape if expr.name in known else expr.subset.size()
        ranges = [_cut_off(*r, n) for r, n in zip(expr.subset.ndrange(), shape, strict=False)]
        # DaCe writes "one element, in steps of three" as text and reads "two elements"
        single = [(b, e, 1 if e == b else step) for b, e, step in ranges]
        return dataclasses.replace(expr, subset=subsets.Range(single))

    return parse_memlet


def _cut_off(first, last, step, size) -> tuple:
    """A slice whose bounds are numbers ends where its array does; an index is left as it is."""
    numbers = all(getattr(n, "is_Integer", isinstance(n, int)) for n in (first, last, step, size))
    if not numbers or first == last or step < 1 or last < 0:
        return first, last, step
    if first >= size:
        return size, size - 1, 1  # nothing
    return max(first, 0), min(last, size - 1), step


def _with_empty_slices(fill):
    """``x[:0]`` is all of an array to the parser: the last element of the slice is -1, which it counts from the end."""

    @functools.wraps(fill)
    def _fill_missing_slices(known, dimensions, array, indices):
        stated = [(1, 1, 1) if isinstance(d, tuple) and _ends_at_start(known, d[1]) else d for d in dimensions]
        slices, *others = fill(known, stated, array, indices)
        return [_no_negative_size(s) for s in slices], *others

    return _fill_missing_slices


def _ends_at_start(known, end) -> bool:
    return end is not None and (memlet_parser._parse_dim_atom(known, end) == 0) is True


def _no_negative_size(entry):
    if not isinstance(entry, tuple) or not all(getattr(n, "is_Integer", isinstance(n, int)) for n in entry):
        return entry
    first, last, step = entry
    return (first, first - 1, 1) if last < first and step > 0 else entry


def _with_empty_views(init):
    """A slice of a matrix without rows has less than no elements, by the steps between them."""

    @functools.wraps(init)
    def __init__(self, dtype, shape, *args, **kwargs):
        if kwargs.get("strides") is not None and kwargs.get("total_size") is None and any(n == 0 for n in shape):
            kwargs["total_size"] = 0
        init(self, dtype, shape, *args, **kwargs)

    return __init__


if not hasattr(newast.ParseMemlet, "__wrapped__"):
    newast.ParseMemlet = _as_numpy_has_it(newast.ParseMemlet)
    data.Array.__init__ = _with_empty_views(data.Array.__init__)
    data.ArrayView.__init__ = _with_empty_views(data.ArrayView.__init__)  # a copy of the other, taken at its definition
    memlet_parser._fill_missing_slices = _with_empty_slices(memlet_parser._fill_missing_slices)
wrap_visitor("visit_Subscript", _wrap_visit)
wrap_visitor("_visit_assign", _wrap_assign)
