"""Refuse operands whose sizes do not fit together: what is generated for them would read beyond their ends."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from sdgrad.errors import ArgumentError
from sdgrad.onnx_ops.families.conv import Windows, windows
from sdgrad.onnx_ops.families.matmul import expanded
from sdgrad.onnx_ops.families.recurrent import DIRECTIONS
from sdgrad.onnx_ops.registry import Operation, attribute_defaults
from sdgrad.record.elements import Dim, product
from sdgrad.record.outside import shown_line
from sdgrad.record.tensors import Tensor

Inputs = Sequence[Tensor | None]
Own = Mapping[str, Any]


def check_sizes(op: Operation, inputs: Inputs) -> None:
    """Look at the operands of an operator, where their sizes are numbers.

    :raises ArgumentError: they do not fit.
    """
    rule = SIZES.get(op.kind) if not op.domain else None
    if rule is None or any(x is not None and not all(isinstance(n, int) for n in x.shape) for x in inputs):
        return
    if not rule(inputs, {**attribute_defaults(op.schema), **op.attributes, "outputs": len(op.outputs)}):
        raise misfit(op, inputs)


def check_axes(op: Operation, inputs: Inputs) -> None:
    """Look at the axes that an operator names.

    :raises ArgumentError: its first operand has no such axis.
    """
    first = inputs[0] if inputs else None
    if op.domain or first is None:
        return
    named = [k for k, formal in enumerate(op.schema.inputs) if formal.name in ("axis", "axes")]
    given = [op.attributes.get("axis"), op.attributes.get("axes"), *(_content(inputs, k) for k in named)]
    axes = [a for v in given if v is not None for a in (v if isinstance(v, list) else [v])]
    more = {"Unsqueeze": len(axes), "OneHot": 1, "Flatten": 1}.get(op.kind, 0)
    low, high = -first.rank - (more if op.kind != "Flatten" else 0), first.rank + more
    if wrong := [a for a in axes if not min(low, -1) <= a < max(high, 1)]:
        raise ArgumentError(f"{_label(op)}: an operand of shape {_shown(first)} has no axis {wrong[0]}")


def _label(op: Operation) -> str:
    """Return what an error about an operator begins with."""
    return f"{shown_line(op.source)}{op.kind}" + (f" '{op.node.name}'" if op.node.name else "")


def _shown(x: Tensor) -> str:
    return f"({', '.join(map(str, x.shape))})"


def misfit(op: Operation, inputs: Inputs) -> ArgumentError:
    """Return the error for operands of an operator that do not fit together."""
    shapes = ", ".join(_shown(x) for x in inputs if x is not None)
    told = ", ".join(f"{k}={v!r}" for k, v in op.attributes.items() if isinstance(v, (int, str, list)))
    return ArgumentError(
        f"{_label(op)}: operands of shapes {shapes} do not fit together" + (f" ({told})" if told else "")
    )


def _content(inputs: Inputs, k: int) -> list[int] | None:
    """Return the known content of an operand; None if it is left out, or not known."""
    x = inputs[k] if k < len(inputs) else None
    if x is None or x.known is None or x.known.dtype.kind not in "iu":
        return None
    return [int(n) for n in x.known.ravel()]


def _shape(inputs: Inputs, k: int) -> tuple[Any, ...]:
    x = inputs[k]
    assert x is not None
    return x.shape


def _fit(a: Dim, b: Dim) -> bool:
    """True if one axis is broadcast to the other."""
    return a == b or a == 1 or b == 1


def _reshape(inputs: Inputs, own: Own) -> bool:
    wanted, shape = _content(inputs, 1), _shape(inputs, 0)
    if wanted is None:
        return True
    if not own.get("allowzero"):
        if any(n == 0 and k >= len(shape) for k, n in enumerate(wanted)):
            return False
        wanted = [shape[k] if n == 0 else n for k, n in enumerate(wanted)]
    known = product([n for n in wanted if n != -1])
    if wanted.count(-1) > 1 or any(n < -1 for n in wanted):
        return False
    if -1 in wanted:
        return product(shape) == 0 if known == 0 else product(shape) % known == 0
    return known == product(shape)


def _matmul(inputs: Inputs, own: Own) -> bool:
    a, b = _shape(inputs, 0), _shape(inputs, 1)
    if not a or not b or a[-1] != b[-2 if len(b) > 1 else 0]:
        return False
    return all(_fit(m, n) for m, n in zip(reversed(a[:-2]), reversed(b[:-2]), strict=False))


def _gemm(inputs: Inputs, own: Own) -> bool:
    a, b = _shape(inputs, 0), _shape(inputs, 1)
    rows, inner = (a[1], a[0]) if own["transA"] else a
    other, columns = (b[1], b[0]) if own["transB"] else b
    c = inputs[2] if len(inputs) > 2 else None
    added = c.shape if c is not None else ()
    return inner == other and all(n in (1, m) for n, m in zip(reversed(added), (columns, rows), strict=False))


def _concat(inputs: Inputs, own: Own) -> bool:
    shapes = [x.shape for x in inputs if x is not None]
    axis = own["axis"] % len(shapes[0])
    return len({(*s[:axis], *s[axis + 1 :]) for s in shapes}) == 1


def _is(inputs: Inputs, k: int, *shape: Dim) -> bool:
    """True if an operand has this shape, or is left out."""
    return k >= len(inputs) or inputs[k] is None or _shape(inputs, k) == shape


def _conv(inputs: Inputs, own: Own) -> bool:
    x, w, group = _shape(inputs, 0), _shape(inputs, 1), own["group"]
    fits = len(x) == len(w) and x[1] == w[1] * group and w[0] % group == 0
    return fits and _is(inputs, 2, w[0]) and _have_room(x, w[2:], own)


def _windows(extents: Sequence[Any], kernel: Sequence[int], own: Own) -> Windows:
    strides, dilations, pads = (own.get(n, ()) for n in ("strides", "dilations", "pads"))
    return windows(extents, kernel, strides, dilations, pads, own.get("auto_pad", "NOTSET"))


def _have_room(x: Sequence[Any], kernel: Sequence[int], own: Own) -> bool:
    """True if a window begins inside of the image, along each axis."""
    if len(kernel) != len(x) - 2:
        return False
    over = _windows(x[2:], kernel, own)
    return all(isinstance(n, int) and n > 0 for n in over.counts(x[2:], bool(own.get("ceil_mode"))))


def _pool(inputs: Inputs, own: Own) -> bool:
    return _have_room(_shape(inputs, 0), own["kernel_shape"], own)


def _conv_transpose(inputs: Inputs, own: Own) -> bool:
    x, w = _shape(inputs, 0), _shape(inputs, 1)
    return x[1] == w[0] and w[0] % own["group"] == 0 and _is(inputs, 2, w[1] * own["group"])


def _col2im(inputs: Inputs, own: Own) -> bool:
    x, image, kernel = _shape(inputs, 0), _content(inputs, 1), _content(inputs, 2)
    if image is None or kernel is None:
        return True
    over = _windows(image, kernel, own)
    return x[1] % product(kernel) == 0 and x[2] == product(over.counts(image))


def _resize(inputs: Inputs, own: Own) -> bool:
    """True if there is a factor or a size for each axis that changes."""
    count = len(own.get("axes") or _shape(inputs, 0))
    given = inputs[1:2] if len(inputs) == 2 else inputs[2:]
    return all(x is None or x.size in (0, count) for x in given)


def _onto(inputs: Inputs, own: Own) -> bool:
    """True if the operands behind the first one are broadcast to it."""
    shape = _shape(inputs, 0)
    return all(
        len(x.shape) <= len(shape)
        and all(n in (1, m) for n, m in zip(reversed(x.shape), reversed(shape), strict=False))
        for x in inputs[1:]
        if x is not None
    )


def _by_channel(inputs: Inputs, own: Own) -> bool:
    channels = _shape(inputs, 0)[1] if len(_shape(inputs, 0)) > 1 else 1
    return all(x is None or x.shape == (channels,) for x in inputs[1:])


def _squeeze(inputs: Inputs, own: Own) -> bool:
    axes = _content(inputs, 1) if len(inputs) > 1 else own.get("axes")
    return all(_shape(inputs, 0)[a] == 1 for a in axes or ())


def _split(inputs: Inputs, own: Own) -> bool:
    extent = _shape(inputs, 0)[own["axis"]]
    sizes = _content(inputs, 1) if len(inputs) > 1 else own.get("split")
    if sizes:
        return len(sizes) == own["outputs"] and sum(sizes) == extent and min(sizes) >= 0
    if count := own.get("num_outputs"):  # all but the last one have as many elements
        return count == own["outputs"] and -(-extent // count) * (count - 1) <= extent
    return extent % own["outputs"] == 0


def _expand(inputs: Inputs, own: Own) -> bool:
    wanted = _content(inputs, 1)
    return wanted is None or all(
        _fit(m, n) for m, n in zip(reversed(_shape(inputs, 0)), reversed(wanted), strict=False)
    )


def _inside(small: Sequence[Any], large: Sequence[Any], axis: int) -> bool:
    """True if an array lies in another one, but for one axis."""
    axis %= max(len(large), 1)
    pairs = enumerate(zip(small, large, strict=False))
    return len(small) == len(large) and all(m <= n for d, (m, n) in pairs if d != axis)


def _gather_elements(inputs: Inputs, own: Own) -> bool:
    return _inside(_shape(inputs, 1), _shape(inputs, 0), own["axis"])


def _scatter_elements(inputs: Inputs, own: Own) -> bool:
    same = _shape(inputs, 1) == _shape(inputs, 2)
    return same and _inside(_shape(inputs, 1), _shape(inputs, 0), own["axis"])


def _scatter_nd(inputs: Inputs, own: Own) -> bool:
    data, indices = _shape(inputs, 0), _shape(inputs, 1)
    return _shape(inputs, 2) == (*indices[:-1], *data[indices[-1] :])


def _gather_nd(inputs: Inputs, own: Own) -> bool:
    data, indices, shared = _shape(inputs, 0), _shape(inputs, 1), own.get("batch_dims", 0)
    return data[:shared] == indices[:shared] and shared + indices[-1] <= len(data)


def _grid_sample(x: Sequence[Any], grid: Sequence[Any]) -> bool:
    return len(x) == len(grid) and x[0] == grid[0] and grid[-1] == len(x) - 2


def _compress(inputs: Inputs, own: Own) -> bool:
    condition, shape = inputs[1], _shape(inputs, 0)
    if condition is None or condition.known is None:
        return True
    taken = condition.known.nonzero()[0]
    return taken.size == 0 or int(taken[-1]) < (product(shape) if own.get("axis") is None else shape[own["axis"]])


def _loss(inputs: Inputs, own: Own) -> bool:
    x = _shape(inputs, 0)
    return _is(inputs, 1, x[0], *x[2:]) and _is(inputs, 2, x[1])


def _einsum(inputs: Inputs, own: Own) -> bool:
    left, _, right = own["equation"].replace(" ", "").partition("->")
    terms = left.split(",")
    if len(terms) != len(inputs):
        return False
    sizes: dict[str, set[Any]] = {}
    for term, shape in zip(terms, (_shape(inputs, k) for k in range(len(inputs))), strict=True):
        letters = expanded(term, len(shape))
        pairs = set(zip(letters, shape, strict=False))
        if len(letters) != len(shape) or len(pairs) != len(set(letters)):  # a diagonal has one size
            return False
        for letter, n in pairs:
            sizes.setdefault(letter, set()).add(n)
    return all(len(found - {1}) <= 1 for found in sizes.values()) and {*right} <= {*sizes, "."}


def _stft(inputs: Inputs, own: Own) -> bool:
    size = _content(inputs, 3)
    window = inputs[2] if len(inputs) > 2 else None
    if size is None:
        return window is None or window.shape[0] <= _shape(inputs, 0)[1]
    return size[0] <= _shape(inputs, 0)[1] and (window is None or window.shape[0] == size[0])


def _pad(inputs: Inputs, own: Own) -> bool:
    amounts, axes = _content(inputs, 1), _content(inputs, 3)
    shape = _shape(inputs, 0)
    if amounts is None or axes is None and len(inputs) > 3 and inputs[3] is not None:
        return True
    along = axes if axes is not None else range(len(shape))
    if len(amounts) != 2 * len(along):
        return False
    pairs = [(amounts[k], amounts[k + len(amounts) // 2], shape[d]) for k, d in enumerate(along)]
    if own["mode"] == "reflect" and any(max(p, q) >= n > 0 for p, q, n in pairs):
        return False
    return all(p + q + n >= 0 for p, q, n in pairs)


def _top_k(inputs: Inputs, own: Own) -> bool:
    wanted = _content(inputs, 1)
    return wanted is None or 0 <= wanted[0] <= _shape(inputs, 0)[own["axis"]]


def _transpose(inputs: Inputs, own: Own) -> bool:
    perm = own.get("perm")
    return perm is None or sorted(perm) == list(range(len(_shape(inputs, 0))))


def _depth_to_space(inputs: Inputs, own: Own) -> bool:
    return _shape(inputs, 0)[1] % own["blocksize"] ** 2 == 0


def _space_to_depth(inputs: Inputs, own: Own) -> bool:
    return all(n % own["blocksize"] == 0 for n in _shape(inputs, 0)[2:])


def _tile(inputs: Inputs, own: Own) -> bool:
    repeats = _content(inputs, 1)
    return repeats is None or len(repeats) == len(_shape(inputs, 0)) and min(repeats, default=0) >= 0


def _recurrent(gates: int) -> Callable[[Inputs, Own], bool]:
    def rule(inputs: Inputs, own: Own) -> bool:
        x, w, r = (_shape(inputs, k) for k in range(3))
        hidden, count, batch = r[2], len(DIRECTIONS[own["direction"]]), x[0 if own.get("layout") else 1]
        state = (batch, count, hidden) if own.get("layout") else (count, batch, hidden)
        others = [(count, 2 * gates * hidden), (batch,), state, state, (count, 3 * hidden)]
        fits = w == (count, gates * hidden, x[2]) and r == (count, gates * hidden, hidden)
        return fits and all(_is(inputs, k, *shape) for k, shape in enumerate(others, start=3))

    return rule


SIZES: dict[str, Callable[[Inputs, Own], bool]] = {
    "Reshape": _reshape,
    "MatMul": _matmul,
    "Gemm": _gemm,
    "Concat": _concat,
    "GatherND": _gather_nd,
    "Compress": _compress,
    "OneHot": lambda inputs, own: _is(inputs, 2, 2),
    "ReverseSequence": lambda inputs, own: _is(inputs, 1, _shape(inputs, 0)[own["batch_axis"]]),
    "GridSample": lambda inputs, own: _grid_sample(_shape(inputs, 0), _shape(inputs, 1)),
    "RoiAlign": lambda inputs, own: _is(inputs, 1, *_shape(inputs, 2), 4),
    "NegativeLogLikelihoodLoss": _loss,
    "SoftmaxCrossEntropyLoss": _loss,
    "LayerNormalization": _onto,
    "RMSNormalization": _onto,
    "Resize": _resize,
    "Upsample": _resize,
    "MaxUnpool": lambda inputs, own: _is(inputs, 1, *_shape(inputs, 0)),
    "MaxPool": _pool,
    "AveragePool": _pool,
    "LpPool": _pool,
    "Col2Im": _col2im,
    "Conv": _conv,
    "ConvTranspose": _conv_transpose,
    "BatchNormalization": _by_channel,
    "InstanceNormalization": _by_channel,
    "Squeeze": _squeeze,
    "Split": _split,
    "Expand": _expand,
    "GatherElements": _gather_elements,
    "ScatterElements": _scatter_elements,
    "ScatterND": _scatter_nd,
    "Einsum": _einsum,
    "STFT": _stft,
    "Pad": _pad,
    "TopK": _top_k,
    "Transpose": _transpose,
    "DepthToSpace": _depth_to_space,
    "SpaceToDepth": _space_to_depth,
    "Tile": _tile,
    "RNN": _recurrent(1),
    "LSTM": _recurrent(4),
    "GRU": _recurrent(3),
}
"""Of operators: whether the sizes of their operands fit, from the operands and the attributes."""
