"""Products of matrices and tensors, by DaCe's ``MatMul`` and ``Dot`` nodes on views; maps where nothing is summed."""

from dace import Memlet
from dace.frontend.common import op_repository

from sdgrad.frontend.replacements.emit import Emitter, broadcast_shape, element_count, same_size
from sdgrad.frontend.replacements.indexing import gather
from sdgrad.frontend.replacements.operands import Operand, static_axis, static_int
from sdgrad.frontend.replacements.promotion import common_type, inexact_type
from sdgrad.frontend.replacements.register import numpy_function
from sdgrad.frontend.replacements.scans import flatten
from sdgrad.frontend.replacements.shaping import broadcast_to, expand_dims, squeeze, transpose
from sdgrad.frontend.replacements.ufuncs import apply_ufunc, outer_operands, reduce_with


def _same_type(emitter: Emitter, *arguments) -> list[Operand]:
    operands = [emitter.array(a, "operand") for a in arguments]
    dtype = common_type([o.kind for o in operands])
    return [emitter.cast(o, dtype) for o in operands]


def _contiguous(emitter: Emitter, operand: Operand) -> Operand:
    """The library nodes take the strides of a batch from its shape alone."""
    return emitter.operand(emitter.view(operand.name, operand.shape))


def _library_call(emitter: Emitter, node, connectors, operands, shape) -> str:
    """One library node with two inputs and one output."""
    out = emitter.new(shape, operands[0].dtype)
    state = emitter.state(node.name)
    state.add_node(node)
    *inputs, output = connectors
    for connector, operand in zip(inputs, operands, strict=True):
        memlet = Memlet.from_array(operand.container, emitter.sdfg.arrays[operand.container])
        state.add_edge(state.add_read(operand.container), None, node, connector, memlet)
    state.add_edge(node, output, state.add_write(out), None, Memlet.from_array(out, emitter.sdfg.arrays[out]))
    return out


def _check_inner(emitter: Emitter, m, n):
    if not same_size(m, n):
        raise ValueError(f"{emitter.function}: the summed dimensions have {m} and {n} elements")


def _dot_node(emitter: Emitter, a: Operand, b: Operand) -> str:
    from dace.libraries.blas.nodes.dot import Dot

    _check_inner(emitter, a.shape[0], b.shape[0])
    return _library_call(emitter, Dot("_Dot_"), ("_x", "_y", "_result"), (a, b), ())


def _matmul_node(emitter: Emitter, a: Operand, b: Operand, shape) -> str:
    from dace.libraries.blas.nodes.matmul import MatMul

    return _library_call(emitter, MatMul("_MatMult_"), ("_a", "_b", "_c"), (a, b), shape)


def _matmul_small(emitter: Emitter, a: Operand, b: Operand) -> str:
    """Vectors and matrices."""
    if a.shape == b.shape == (1,):  # DaCe takes slices of one element for scalars
        product = emitter.operand(emitter.compute("dot", "{0} * {1}", [a, b]))
        return reduce_with(emitter, "add", product, [0], False)
    if len(a.shape) == len(b.shape) == 1:
        return _dot_node(emitter, a, b)
    _check_inner(emitter, a.shape[-1], b.shape[0])
    shape = a.shape[:-1] + b.shape[1:]
    if same_size(a.shape[-1], 1):  # DaCe's expansions count on a dimension of several elements
        params = [f"__i{k}" for k in range(len(shape))]
        rows, columns = params[: len(a.shape) - 1], params[len(a.shape) - 1 :]
        return emitter.compute("products", "{0} * {1}", [a.read_at(*rows, "0"), b.read_at("0", *columns)], shape=shape)
    return _matmul_node(emitter, a, b, shape)


def _matmul_batched(emitter: Emitter, a: Operand, b: Operand) -> str:
    batch = broadcast_shape([a.shape[:-2], b.shape[:-2]], emitter.function)
    wide = [
        o if o.shape[:-2] == batch else emitter.operand(broadcast_to(emitter, o, batch + o.shape[-2:])) for o in (a, b)
    ]
    a, b = (_contiguous(emitter, o) for o in wide)
    _check_inner(emitter, a.shape[-1], b.shape[-2])
    if any(same_size(n, 1) for n in (*a.shape, *b.shape)):
        return _sum_of_products(emitter, a, b)
    count = element_count(batch)
    first, second = (emitter.operand(emitter.view(o.name, (count, *o.shape[-2:]))) for o in (a, b))
    product = _matmul_node(emitter, first, second, (count, a.shape[-2], b.shape[-1]))
    return emitter.view(product, (*batch, a.shape[-2], b.shape[-1]))


def _sum_of_products(emitter: Emitter, a: Operand, b: Operand) -> str:
    """Stacks of matrices in which a dimension has one element: DaCe's batched product mistakes such shapes."""
    batch = [f"__i{k}" for k in range(len(a.shape) - 2)]
    row, column, summed = (f"__i{len(batch) + k}" for k in range(3))
    reads = [a.read_at(*batch, row, summed), b.read_at(*batch, summed, column)]
    products = emitter.compute("products", "{0} * {1}", reads, shape=(*a.shape[:-1], b.shape[-1], a.shape[-1]))
    return emitter.reduce("add", "lambda x, y: x + y", emitter.operand(products), (len(a.shape),), 0)


def _rows_times(emitter: Emitter, a: Operand, b: Operand) -> str:
    """A stack of matrices times one vector or matrix is one product of all their rows."""
    rows = emitter.operand(emitter.view(a.name, (element_count(a.shape[:-1]), a.shape[-1])))
    return emitter.view(_matmul_small(emitter, rows, b), a.shape[:-1] + b.shape[1:])


@numpy_function("matmul", "linalg.matmul")
def matmul(emitter, x1, x2):
    a, b = _same_type(emitter, x1, x2)
    if not a.shape or not b.shape:
        raise ValueError(f"{emitter.function}: operands must have at least one dimension; multiply by scalars with *")
    if len(a.shape) <= 2 and len(b.shape) <= 2:
        return _matmul_small(emitter, a, b)
    if len(b.shape) <= 2:
        return _rows_times(emitter, a, b)
    if len(a.shape) == 1:
        return squeeze(emitter, _matmul_batched(emitter, emitter.operand(expand_dims(emitter, a, 0)), b), -2)
    return _matmul_batched(emitter, a, b)


def _matmul_operator(visitor, sdfg, state, left, right):
    emitter = Emitter(visitor, "operator @", state)
    result = matmul(emitter, left, right)
    emitter.finish()
    return result


for _left in ("Array", "View"):
    for _right in ("Array", "View"):
        op_repository.replaces_operator(_left, "MatMult", otherclass=_right)(_matmul_operator)


@numpy_function("dot", "dace.dot", method="dot")
def dot(emitter, a, b):
    left, right = emitter.operand(a, "a"), emitter.operand(b, "b")
    if not left.shape or not right.shape:
        return apply_ufunc(emitter, "multiply", [left, right])
    if len(right.shape) <= 2:
        return matmul(emitter, left, right)
    return tensordot(emitter, left, right, ([-1], [-2]))


@numpy_function("inner")
def inner(emitter, a, b):
    left, right = emitter.operand(a, "a"), emitter.operand(b, "b")
    if not left.shape or not right.shape:
        return apply_ufunc(emitter, "multiply", [left, right])
    return tensordot(emitter, left, right, ([-1], [-1]))


@numpy_function("vdot")
def vdot(emitter, a, b):
    left, right = _same_type(emitter, a, b)
    if left.dtype.kind == "c":
        left = emitter.operand(apply_ufunc(emitter, "conj", [left]))
    return _dot_node(emitter, *(emitter.operand(flatten(emitter, o)) for o in (left, right)))


@numpy_function("vecdot", "linalg.vecdot")
def vecdot(emitter, x1, x2, axis=-1):
    a, b = _same_type(emitter, x1, x2)
    if a.dtype.kind == "c":
        raise TypeError(f"{emitter.function}: complex operands are not supported")
    products = emitter.operand(emitter.compute("vecdot", "{0} * {1}", [a, b]))
    return emitter.reduce(
        "add", "lambda x, y: x + y", products, (static_axis(axis, len(products.shape), emitter.function),), 0
    )


def _summed_axes(emitter: Emitter, axes, a: Operand, b: Operand) -> tuple[list[int], list[int]]:
    if isinstance(axes, int):
        return list(range(len(a.shape) - axes, len(a.shape))), list(range(axes))
    pair = [k if isinstance(k, (list, tuple)) else [k] for k in axes]
    left, right = (
        [static_axis(k, len(o.shape), emitter.function, "axes") for k in part]
        for part, o in zip(pair, (a, b), strict=False)
    )
    if len(left) != len(right):
        raise ValueError(f"{emitter.function}: axes must name as many dimensions of a as of b")
    return left, right


@numpy_function("tensordot", "dace.tensordot", "linalg.tensordot")
def tensordot(emitter, a, b, axes=2):
    """Transposed and viewed as one product of two matrices."""
    a, b = _same_type(emitter, a, b)
    left, right = _summed_axes(emitter, axes, a, b)
    for m, n in zip(left, right, strict=True):
        _check_inner(emitter, a.shape[m], b.shape[n])
    rows = [k for k in range(len(a.shape)) if k not in left]
    columns = [k for k in range(len(b.shape)) if k not in right]
    shape = tuple(a.shape[k] for k in rows) + tuple(b.shape[k] for k in columns)
    if not left:
        return emitter.compute("outer", "{0} * {1}", [*outer_operands(a, b)], shape=shape)
    first = _as_matrix(emitter, a, rows, left)
    second = _as_matrix(emitter, b, right, columns)
    product = _matmul_small(emitter, first, second)
    return emitter.view(product, shape) if shape else product


def _as_matrix(emitter: Emitter, operand: Operand, rows, columns) -> Operand:
    """``operand`` with ``rows`` and ``columns`` each merged to one dimension; an empty side disappears."""
    ordered = emitter.operand(transpose(emitter, operand, [*rows, *columns])) if len(operand.shape) > 1 else operand
    sides = [element_count([operand.shape[k] for k in side]) for side in (rows, columns) if side]
    return emitter.operand(emitter.view(ordered.name, tuple(sides)))


@numpy_function("linalg.solve", "dace.linalg.solve")
def solve(emitter, a, b):
    from dace.libraries.linalg import Solve

    matrix, right = (emitter.cast(o, inexact_type(o.dtype)) for o in _same_type(emitter, a, b))
    if len(matrix.shape) != 2 or len(right.shape) not in (1, 2):
        raise ValueError(f"{emitter.function}: a must be a matrix and b a vector or a matrix")
    if same_size(matrix.shape[0], 1):  # which no node takes
        return emitter.compute("solve", "{0} / {1}", [right, matrix.read_at("0", "0")], shape=right.shape)
    # The node refuses a single column, so solve for it twice and keep one
    single_column = len(right.shape) == 1 or same_size(right.shape[1], 1)
    columns = right
    if single_column:
        twice = [right.read_at(*["__i0", "0"][: len(right.shape)])]
        columns = emitter.operand(emitter.compute("columns", "{0}", twice, shape=(right.shape[0], 2)))
    node = Solve("solve")
    solution = emitter.operand(
        _library_call(emitter, node, ("_ain", "_bin", "_bout"), (matrix, columns), columns.shape)
    )
    return gather(emitter, "column", solution, right.shape, ["__i0", "0"]) if single_column else solution.container


def _square(emitter, a):
    matrix = emitter.array(a, "a")
    if len(matrix.shape) != 2 or not same_size(*matrix.shape):
        raise ValueError(f"{emitter.function}: a must be a square matrix")
    return emitter.cast(matrix, inexact_type(matrix.dtype))


@numpy_function("linalg.inv", "dace.linalg.inv")
def inv(emitter, a):
    from dace.libraries.linalg import Inv

    matrix = _square(emitter, a)
    if same_size(matrix.shape[0], 1):
        return emitter.compute("inv", "1 / {0}", [matrix])
    node = Inv("inv", overwrite_a=False, use_getri=True)
    return _library_call(emitter, node, ("_ain", "_aout"), (matrix,), matrix.shape)


@numpy_function("linalg.cholesky", "dace.linalg.cholesky")
def cholesky(emitter, a):
    from dace.libraries.linalg import Cholesky

    matrix = _square(emitter, a)
    if same_size(matrix.shape[0], 1):
        return emitter.compute("cholesky", "sqrt({0})", [matrix])
    return _library_call(emitter, Cholesky("cholesky", lower=True), ("_a", "_b"), (matrix,), matrix.shape)


@numpy_function("outer", "linalg.outer")
def outer(emitter, a, b):
    left, right = (emitter.operand(flatten(emitter, emitter.array(o, n))) for o, n in ((a, "a"), (b, "b")))
    return emitter.compute(
        "outer",
        "{0} * {1}",
        [*outer_operands(left, right)],
        common_type([left.kind, right.kind]),
        left.shape + right.shape,
    )


@numpy_function("kron")
def kron(emitter, a, b):
    left, right = _same_type(emitter, a, b)
    ndim = max(len(left.shape), len(right.shape))
    left, right = (
        emitter.operand(emitter.view(o.name, (1,) * (ndim - len(o.shape)) + o.shape)) if len(o.shape) < ndim else o
        for o in (left, right)
    )
    pairs = tuple(n for sizes in zip(left.shape, right.shape, strict=True) for n in sizes)
    reads = [o.read_at(*(f"__i{2 * k + side}" for k in range(ndim))) for side, o in enumerate((left, right))]
    product = emitter.compute("kron", "{0} * {1}", reads, shape=pairs)
    return emitter.view(product, tuple(m * n for m, n in zip(left.shape, right.shape, strict=True)))


@numpy_function("cross", "linalg.cross")
def cross(emitter, a, b):
    left, right = _same_type(emitter, a, b)
    if any(not same_size(o.shape[-1], 3) for o in (left, right)):
        raise ValueError(f"{emitter.function}: a and b must have three elements along their last axis")
    shape = broadcast_shape([left.shape[:-1], right.shape[:-1]], emitter.function)
    out = emitter.new((*shape, 3), left.dtype)

    def component(operand: Operand, k: int) -> Operand:
        lead = len(shape) - len(operand.shape) + 1
        return operand.read_at(
            *("0" if same_size(n, 1) else f"__i{lead + d}" for d, n in enumerate(operand.shape[:-1])), k % 3
        )

    for k in range(3):
        reads = [component(o, k + shift) for o, shift in ((left, 1), (right, 2), (left, 2), (right, 1))]
        at = [*(f"__i{d}" for d in range(len(shape))), str(k)]
        emitter.compute("cross", "{0} * {1} - {2} * {3}", reads, shape=shape, out=out, out_at=at)
    return out


@numpy_function("linalg.matrix_power")
def matrix_power(emitter, a, n):
    base = emitter.array(a, "a")
    n = static_int(n, emitter.function, "n")
    if n < 0:
        raise ValueError(f"{emitter.function}: n must be non-negative, not {n}; invert first")
    if n == 0:
        return emitter.compute("eye", "1 if __i0 == __i1 else 0", [], base.dtype, base.shape)
    result = None
    while n:
        if n % 2:
            result = base if result is None else emitter.operand(matmul(emitter, result, base))
        n //= 2
        base = emitter.operand(matmul(emitter, base, base)) if n else base
    return result.container


@numpy_function("linalg.multi_dot")
def multi_dot(emitter, arrays):
    """From the right if the last factor is a vector, else from the left."""
    operands = [emitter.array(a, "arrays") for a in arrays]
    from_right = len(operands[-1].shape) == 1
    result = operands.pop() if from_right else operands.pop(0)
    while operands:
        pair = (operands.pop(), result) if from_right else (result, operands.pop(0))
        result = emitter.operand(matmul(emitter, *pair))
    return result.container
