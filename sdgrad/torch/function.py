"""A NumPy-style function as a differentiable function of tensors."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import torch

from sdgrad.api.gradient import checked
from sdgrad.convert.callables import name_of, python_function
from sdgrad.errors import ArgumentError, NotScalarError
from sdgrad.runtime.call.marshalling import like
from sdgrad.specialize.arguments import Call
from sdgrad.specialize.forward_backward import Backward, Forward
from sdgrad.specialize.pullback import Pullback
from sdgrad.specialize.signature import Signature


def function(f: Callable[..., Any]) -> Callable[..., Any]:
    """``f`` on torch tensors, forward and backward as generated code, part of torch's graph.

    Derivatives of any order go through it: the backward pass is a function of this kind again. Tensors are taken
    without a copy where they are contiguous, on the CPU; other arguments are constants.

    :param f: a NumPy-style function or a ``@dace.program``.
    :returns: a callable with ``f``'s arguments that returns tensors.
    """
    checked(f)

    @functools.wraps(python_function(f))
    def call(*args: Any, **kwargs: Any) -> Any:
        bound = Call.of(f, args, kwargs)
        results = apply(bound.f, bound.arguments)
        return Signature.of(bound.f, bound.arguments).nested(results)

    return call


def apply(
    f: Callable, arguments: Mapping[str, Any], provides: tuple[str, ...] | None = None
) -> tuple[torch.Tensor, ...]:
    """One call, as a node of torch's graph.

    :param provides: the outputs that have a derivative, as
        :class:`~sdgrad.specialize.forward_backward.Forward` names them.
    """
    refuse_transforms(name_of(f))
    refuse_tangents(name_of(f), arguments.values())
    if not torch.is_grad_enabled():
        arguments = {n: v.detach() if isinstance(v, torch.Tensor) else v for n, v in arguments.items()}
    names = tuple(n for n, v in arguments.items() if isinstance(v, torch.Tensor))
    constants = {n: v for n, v in arguments.items() if n not in names}
    return _Call.apply(f, tuple(arguments), constants, names, provides, *(arguments[n] for n in names))


def refuse_transforms(name: str) -> None:
    """Raise an error inside of PyTorch's transforms of functions, whose tensors have no memory to hand over."""
    if torch._C._functorch.peek_interpreter_stack() is not None:
        raise ArgumentError(
            f"{name}: torch.func (grad, vmap, jvp, ..) and vectorize=True do not transform compiled code: call "
            ".backward() or torch.autograd.grad, or transform the NumPy function by sdgrad.grad or sdgrad.vmap"
        )


def refuse_tangents(name: str, values: Iterable[Any]) -> None:
    """Raise an error for tensors with tangents of PyTorch's forward mode, which compiled code has no use for."""
    forward_ad = torch.autograd.forward_ad
    if getattr(forward_ad, "_current_level", -1) < 0:
        return
    if any(isinstance(x, torch.Tensor) and forward_ad.unpack_dual(x).tangent is not None for x in values):
        raise ArgumentError(
            f"{name}: torch.autograd.forward_ad passes no tangents through compiled code: write sdgrad.jvp of the "
            "NumPy function, or torch.autograd.functional.jvp"
        )


class _Call(torch.autograd.Function):
    @staticmethod
    def described(f: Callable, *_: Any) -> str:
        """Return what a call is to users."""
        return f"sdgrad.torch.function({name_of(f)})"

    @staticmethod
    def forward(ctx, f, order, constants, names, provides, *tensors):
        given = {**constants, **{n: t.detach() for n, t in zip(names, tensors, strict=True)}}
        arguments = {n: given[n] for n in order}
        ctx.f, ctx.order, ctx.constants, ctx.names = f, order, constants, names
        ctx.save_for_backward(*tensors)
        ctx.wanted = tuple(n for n, w in zip(names, ctx.needs_input_grad[5:], strict=True) if w)
        if not ctx.wanted:
            signature = Signature.of(f, arguments)
            found = signature.primal()(signature.arguments(arguments))
            results = [signature.output_value(o, found, arguments) for o in signature.outputs]
        else:
            ctx.tape = Forward(f, ctx.wanted, provides).run(arguments)
            results = list(ctx.tape.outputs.values())
        if not results:
            raise NotScalarError(f"{name_of(f)} returns nothing and writes no argument")
        model = next((t for t in tensors), torch.zeros(()))
        ctx.set_materialize_grads(False)
        found = tuple(r if isinstance(r, torch.Tensor) else like(r, model) for r in results)
        if ctx.wanted:
            outputs = zip(ctx.tape.outputs, found, strict=True)
            ctx.mark_non_differentiable(*(r for n, r in outputs if n not in ctx.tape.differentiable))
        return found

    @staticmethod
    def backward(ctx, *cotangents):
        refuse_transforms(name_of(ctx.f))
        named = {n: c for n, c in zip(ctx.tape.outputs, cotangents, strict=True) if c is not None}
        recorded = torch.is_grad_enabled()  # the backward pass will be differentiated
        found = Backward(ctx.f, ctx.wanted)(ctx.tape, **named) if named and not recorded else {}
        if named and (recorded or _meets_others(found, len(ctx.tape.differentiable) - len(named))):
            values = {**ctx.constants, **dict(zip(ctx.names, ctx.saved_tensors, strict=True))}
            own = (n for n in ctx.tape.outputs if n in ctx.tape.differentiable)
            inside = zip(own, ctx.tape.request.outputs, strict=True)  # with their names in the program
            seeds = {o: named[n] for n, o in inside if n in named}
            found = _recorded(ctx.f, ctx.wanted, {n: values[n] for n in ctx.order}, seeds)
        gradients = (_shaped(found.get(n), t) for n, t in zip(ctx.names, ctx.saved_tensors, strict=True))
        return (None, None, None, None, None, *gradients)


class PreparedCall(torch.autograd.Function):
    """A call whose programs and arguments are known: nothing is looked up, nothing is copied."""

    @staticmethod
    def forward(ctx, prepared, *tensors):
        results, ctx.kept = prepared.run(tensors)
        ctx.prepared = prepared
        # Results that backward reads are saved as PyTorch saves them, so that writes to them are found.
        ctx.save_for_backward(*tensors, *(results[prepared.outputs.index(n)] for n in ctx.kept.results))
        ctx.set_materialize_grads(False)
        depending = prepared.depending()
        ctx.mark_non_differentiable(*(r for k, r in enumerate(results) if k not in depending))
        return tuple(results)

    @staticmethod
    def backward(ctx, *cotangents):
        refuse_transforms(name_of(ctx.prepared.function))
        prepared, saved = ctx.prepared, ctx.saved_tensors
        tensors = saved[: len(prepared.order)]
        given = dict(zip(prepared.outputs, cotangents, strict=True))
        asked = {k for k, c in enumerate(cotangents) if c is not None}
        if not asked:
            return (None, *(None for _ in tensors))
        recorded = torch.is_grad_enabled()  # the backward pass will be differentiated
        if not recorded:
            kept = {**ctx.kept.tensors, **dict(zip(ctx.kept.results, saved[len(tensors) :], strict=True))}
            found = prepared.pull(tensors, kept, given)
        outputs = zip(prepared.seeds, prepared.request.outputs, strict=True)
        named = {o: c for s, o in outputs if (c := given[s.output]) is not None}
        if recorded or _meets_others(found, len(prepared.seeds) - len(named)):
            found = _recorded(
                prepared.function, prepared.wanted, dict(zip(prepared.order, tensors, strict=True)), named
            )
        # the others have none, as in eager mode
        found = {n: g for n, g in found.items() if asked & prepared.reaches[n]}
        return (None, *(_shaped(found.get(n), t) for n, t in zip(prepared.order, tensors, strict=True)))


def _meets_others(gradients: Mapping[str, torch.Tensor], others: int) -> bool:
    """True if results that nobody asks about may have made gradients NaN: zero times their infinite derivatives."""
    return others > 0 and not all(bool(g.sum().isfinite()) for g in gradients.values())


def _recorded(
    f: Callable, wanted: tuple[str, ...], arguments: Mapping[str, Any], seeds: Mapping[str, torch.Tensor]
) -> dict[str, torch.Tensor]:
    """Gradients by argument of outputs with cotangents, from a backward pass that can be differentiated again."""
    pullback: Any = Pullback(f, tuple(arguments), wanted, tuple(seeds))
    named = dict(zip(pullback.cotangents(arguments), seeds.values(), strict=True))
    return dict(zip(wanted, apply(pullback, {**arguments, **named}), strict=True))


def _shaped(gradient: torch.Tensor | None, of: torch.Tensor) -> torch.Tensor | None:
    """A gradient in the shape of its tensor: programs have one element where tensors have no axis."""
    return gradient.reshape(of.shape) if gradient is not None else None
