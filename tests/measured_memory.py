"""Print as JSON what calls of a program within limits take, counted by the allocator; run with the meter loaded."""

import ctypes
import functools
import gc
import json
import sys

import long_tapes as programs
import numpy as np
from onnx import TensorProto, helper, numpy_helper

import sdgrad
import sdgrad.onnx
from sdgrad.runtime.call import persistent_workspace

RNG = np.random.default_rng(0)
LIMITS = ("100%", None), ("75%", None), ("50%", None), ("25%", None), ("min", "1GiB"), ("min", None)
"""Of memory, and of the disk."""


def flat(found):
    """Value and gradients as one list of arrays."""
    value, gradients = found
    return [np.asarray(v) for v in (value, *(gradients if isinstance(gradients, tuple) else (gradients,)))]


def taken_by(meter, call):
    """What a call returns, and the bytes that it takes: the fewer of two, since Python may allocate for itself."""
    counts = []
    for _ in range(2):
        found = None
        gc.collect()
        sdgrad.free_memory()
        before = meter.meter_start()
        found = call()
        counts.append(meter.meter_most() - before)
    return found, min(counts)


def measured(meter, f):
    """Rows of a limit, the bytes allowed and taken, and the error of the results relative to those without a limit."""
    args = programs.arguments(f)
    wrt = tuple(k for k, a in enumerate(args) if isinstance(a, np.ndarray))
    whole = flat(sdgrad.value_and_grad(f, wrt)(*args))
    curve = sdgrad.memory_plan(f, *args, wrt=wrt, points=3)
    on_disk = sdgrad.memory_plan(f, *args, wrt=wrt, points=2, disk_limit="1GiB")
    for limit, disk in LIMITS:
        most, least = curve.unlimited or curve.points[0].bytes, (on_disk if disk else curve).least
        allowed = least if limit == "min" else int(most * float(limit[:-1]) / 100)
        try:
            given = allowed if curve.unlimited is None else limit
            limited = sdgrad.value_and_grad(f, wrt, memory_limit=given, disk_limit=disk)
            found = flat(limited(*args))
        except sdgrad.errors.MemoryLimitError as error:
            yield {"limit": limit, "allowed": allowed, "least": error.least}
            continue
        error = max(float(np.max(np.abs(a - b)) / np.max(np.abs(b))) for a, b in zip(found, whole, strict=True))
        del found
        _, taken = taken_by(meter, lambda limited=limited: limited(*args))
        yield {"limit": limit, "allowed": allowed, "taken": taken, "error": error}


def model():
    """A chain of layers as an ONNX model, whose tape is larger than its weights."""
    nodes, weights = [], []
    for k in range(8):
        weights.append(numpy_helper.from_array(0.2 * RNG.standard_normal((16, 16)), f"w{k}"))
        nodes.append(helper.make_node("MatMul", [f"x{k}", f"w{k}"], [f"y{k}"]))
        nodes.append(helper.make_node("Tanh", [f"y{k}"], [f"x{k + 1}"]))
    nodes.append(helper.make_node("ReduceMean", ["x8"], ["loss"]))
    x, loss = (helper.make_tensor_value_info(n, TensorProto.DOUBLE, s) for n, s in (("x0", [512, 16]), ("loss", None)))
    graph = helper.make_graph(nodes, "chain", [x], [loss], weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)])


def pulled_back(meter, vjp, cotangent):
    """Rows of the bytes of a limit, and what a call and its pullback take, for a share and for the least."""

    def called(limit):
        _, pullback = vjp(limit)
        sdgrad.free_memory()
        found = pullback(cotangent)
        return [*(found.values() if isinstance(found, dict) else found)]

    def taken(limit):
        called(limit)
        return taken_by(meter, lambda: called(limit))

    whole, most = taken(None)
    least = refused(called, 1)
    for limit in (most, most * 3 // 4, least):
        if limit < least:
            yield {"limit": limit, "least": refused(called, limit)}
            continue
        found, bytes_taken = taken(limit)
        error = max(float(np.max(np.abs(a - b)) / np.max(np.abs(b))) for a, b in zip(found, whole, strict=True))
        yield {"limit": limit, "taken": bytes_taken, "error": error, "whole": most}


def refused(called, limit):
    """What the error says that a call takes at least."""
    try:
        called(limit)
    except sdgrad.errors.MemoryLimitError as error:
        return error.least
    raise AssertionError(f"{limit} bytes are enough")


def pullback_of_function(meter):
    """Rows of a function, with arrays that weigh more than Python's own objects."""
    x = RNG.random(8 * programs.N)
    return pulled_back(meter, lambda limit: sdgrad.vjp(programs.values, x, memory_limit=limit), x)


def pullback_of_model(meter):
    """Rows of a model."""
    chain = model()
    loaded = functools.cache(lambda limit: sdgrad.onnx.load(chain, memory_limit=limit))
    batch = RNG.standard_normal((512, 16))
    return pulled_back(meter, lambda limit: loaded(limit).vjp(batch), np.ones((1, 1)))


def pullback_of_module(meter):
    """Rows of a transformer, whose values are written by maps, loops and parts."""
    import torch
    import torch_zoo

    import sdgrad.torch

    torch.manual_seed(0)
    network, words = torch_zoo.GPT(16, 32, 4, 3, 48), torch.randint(0, 16, (2, 48))
    module = functools.cache(lambda limit: sdgrad.torch.Module(network, memory_limit=limit, verify=False))

    def vjp(limit):
        loss = module(limit)(words, words)[1]
        return loss, lambda _: [g.numpy() for g in torch.autograd.grad(loss, list(network.parameters()))]

    return pulled_back(meter, vjp, None)


PULLBACKS = {"function": pullback_of_function, "model": pullback_of_model, "module": pullback_of_module}


if __name__ == "__main__":
    persistent_workspace.MOST = 0  # all memory is that of a call
    loaded = ctypes.CDLL(sys.argv[1])
    loaded.meter_start.restype = loaded.meter_most.restype = ctypes.c_long
    with sdgrad.config.override(optimization_level=0):
        name = sys.argv[2]
        rows = PULLBACKS[name](loaded) if name in PULLBACKS else measured(loaded, getattr(programs, name))
        print(json.dumps(list(rows)))
