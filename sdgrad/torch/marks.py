"""Mark what PyTorch's decompositions would lose of a traced module, by operations of our own.

That is where gradients stop (``detach``, regions under ``torch.no_grad()``), and in which layout dropout draws numbers.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import torch
from torch import fx

from sdgrad.torch.draws import Make, dropout_mask
from sdgrad.torch.sizes import shape_of

aten = torch.ops.aten
DETACH = (aten.detach.default, aten.detach_.default)
DROPOUT: dict[Any, Any] = {aten.dropout.default: aten.mul.Tensor, aten.dropout_.default: aten.mul_.Tensor}


@torch.library.custom_op("sdgrad::stop_gradient", mutates_args=())
def stop_gradient(x: torch.Tensor) -> torch.Tensor:
    """The content of a tensor, as a constant."""
    return x.detach().clone()


@torch.library.custom_op("sdgrad::drawn", mutates_args=())
def drawn(x: torch.Tensor, number: int) -> torch.Tensor:
    """Numbers like ``x`` that are drawn before the call."""
    return torch.empty_like(x)


@stop_gradient.register_fake
def _(x: torch.Tensor) -> torch.Tensor:
    return torch.empty_like(x)


@drawn.register_fake
def _(x: torch.Tensor, number: int) -> torch.Tensor:
    return torch.empty_like(x)


torch.library.define(  # without a derivative of its own, which tracing would ask for
    "sdgrad::ctc", "(Tensor scores, Tensor labels, Tensor widths, Tensor counts, int blank, bool finite) -> Tensor"
)


@torch.library.register_fake("sdgrad::ctc")
def _(scores: torch.Tensor, *_: Any) -> torch.Tensor:
    """Losses of labels without an alignment, one for each row of labels."""
    return scores.new_empty(scores.shape[1])


CTC: Any = torch.ops.sdgrad.ctc.default
STOP: Any = torch.ops.sdgrad.stop_gradient.default
DRAWN: Any = torch.ops.sdgrad.drawn.default


def mark(module: fx.GraphModule, draws: list[Make]) -> None:
    """Put marks into a traced graph.

    :param draws: gets what draws the numbers, by the numbers of their marks.
    """
    graph = module.graph
    nodes: list[Any] = list(graph.nodes)
    for node in nodes:
        if node.op != "call_function":
            continue
        if node.target in DETACH:
            node.target = STOP
        elif node.target in DROPOUT:
            _dropout(graph, node, draws)
        elif "set_grad_enabled" in str(node.target):
            mark(getattr(module, node.args[1].target), draws)
            for user in list(node.users) if not node.args[0] else ():
                _stop(graph, user)
    graph.lint()
    module.recompile()


def _stop(graph: fx.Graph, node: fx.Node) -> None:
    """Let everything that uses a result use it as a constant."""
    value = node.meta.get("val")
    if not isinstance(value, torch.Tensor) or not value.is_floating_point():
        return
    with graph.inserting_after(node):
        marked = graph.call_function(STOP, (node,))
    marked.meta = dict(node.meta)
    node.replace_all_uses_with(marked, delete_user_cb=lambda user: user is not marked)


def _dropout(graph: fx.Graph, node: Any, draws: list[Make]) -> None:
    """Replace dropout by a product with a mask, drawn in the order in which the operand lies in memory."""
    given: list[Any] = [*node.args, *node.kwargs.values()]
    x, p, train = given
    if not train or p == 0:
        return
    value = x.meta["val"]
    draws.append(partial(dropout_mask, shape_of(value.shape), shape_of(value.stride()), value.dtype, p))
    with graph.inserting_before(node):
        mask = graph.call_function(DRAWN, (x, len(draws) - 1))
    mask.meta = dict(x.meta)
    node.target, node.args, node.kwargs = DROPOUT[node.target], (x, mask), {}
