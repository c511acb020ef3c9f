"""The engines of :mod:`benchmarks.engines`, and two more, with derivatives that are no gradients of numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from benchmarks import engines
from benchmarks.gradbench.by_hand import ByHand
from benchmarks.gradbench.program import arrays_of

if TYPE_CHECKING:
    from benchmarks.gradbench.program import Program


class Derivative(engines.Engine):
    """A derivative as a user of a library writes it; the library's plain gradient is that of the next class."""

    library = ""
    kernel: Program

    def whole_jacobian(self) -> Callable[..., Any]:
        """A function of all arguments that returns the Jacobians by ``kernel.wrt``."""
        raise NotImplementedError

    @property
    def written(self) -> Callable[..., Any] | None:
        """The derivative that is no plain gradient."""
        return self.whole_jacobian() if self.kernel.kind == "jacobian" else self.kernel.derivative(self.library)

    def arrays(self, gradients: Sequence[Any]) -> dict[str, Any]:
        return arrays_of(self.kernel, gradients)


class Sdgrad(Derivative, engines.Sdgrad):
    library = "sdgrad"

    def whole_jacobian(self) -> Callable[..., Any]:
        import sdgrad

        return sdgrad.jacobian(self.kernel.numpy_version, wrt=self.kernel.wrt)

    def build_gradient(self) -> None:
        self.own = self.written
        if self.own is None:
            super().build_gradient()
        else:
            import sdgrad

            self.own(*self.args)
            sdgrad.free_memory()  # it would serve the call whose memory is measured

    def gradient(self) -> tuple[Any, Sequence[Any]]:
        return super().gradient() if self.own is None else (None, self.kernel.finished(self.own(*self.args), self.args))


class Jax(Derivative, engines.Jax):
    library = "jax"

    def whole_jacobian(self) -> Callable[..., Any]:
        import jax

        return jax.jacfwd(self.kernel.jax_version, argnums=self.kernel.positions)

    def build_gradient(self) -> None:
        self.own_way = self.written
        if self.own_way is None:
            super().build_gradient()
        else:
            self.differentiated = self._compiled(self.own_way)

    def gradient(self) -> tuple[Any, Sequence[Any]]:
        import jax

        if self.own_way is None:
            return super().gradient()
        return None, self.kernel.finished(jax.block_until_ready(self.differentiated(*self.dynamic)), self.args)


class Eager(Derivative, engines.Eager):
    library = "torch"

    def __init__(self, kernel: Program, args: Sequence[Any]) -> None:
        import torch

        super().__init__(kernel, args)
        self.own = [
            torch.as_tensor(a, dtype=torch.float64) if k in kernel.positions else a for k, a in enumerate(self.own)
        ]
        self.own_way = self.written and self.made(self.written)

    def whole_jacobian(self) -> Callable[..., Any]:
        import torch

        return torch.func.jacfwd(self.kernel.torch_version, argnums=self.kernel.positions)

    def gradient(self) -> tuple[Any, Sequence[Any]]:
        return (
            super().gradient()
            if self.own_way is None
            else (None, self.kernel.finished(self.own_way(*self.own), self.args))
        )


class Compiled(Eager, engines.Compiled):
    """PyTorch with ``torch.compile``."""


class Autograd(Derivative):
    """HIPS/autograd: NumPy with a tape of Python's."""

    library = "autograd"

    def whole_jacobian(self) -> Callable[..., Any]:
        """Forward mode, a direction at a time."""
        import autograd
        import numpy as np

        def column(k: int, direction: Any, args: Sequence[Any]) -> Any:
            return autograd.make_jvp(self.function, k)(*args)(direction)[1]

        def whole(*args: Any) -> list[Any]:
            return [
                np.stack([column(k, direction, args) for direction in np.eye(args[k].size)], axis=-1)
                for k in self.kernel.positions
            ]

        return whole

    def build_forward(self) -> None:
        self.function = self.kernel.function("autograd")

    def build_gradient(self) -> None:
        import autograd

        self.build_forward()
        self.own = self.written
        if self.own is None:
            self.both = autograd.value_and_grad(lambda wrt, *rest: self._called(wrt, rest))

    def _called(self, wrt: Sequence[Any], args: Sequence[Any]) -> Any:
        given = dict(zip(self.kernel.positions, wrt, strict=True))
        return self.function(*(given.get(k, a) for k, a in enumerate(args)))

    def forward(self) -> Any:
        return self.function(*self.args)

    def gradient(self) -> tuple[Any, Sequence[Any]]:
        if self.own is not None:
            return None, self.kernel.finished(self.own(*self.args), self.args)
        return self.both(tuple(self.args[k] for k in self.kernel.positions), *self.args)


class NumPy(engines.NumPy):
    def build_forward(self) -> None:
        if self.kernel.name in ("particle", "saddle"):
            raise NotImplementedError("the objective has a derivative in it")


ENGINES: dict[str, type[engines.Engine]] = {
    "sdgrad": Sdgrad,
    "jax": Jax,
    "torch": Eager,
    "torch-compile": Compiled,
    "autograd": Autograd,
    "numpy": NumPy,
    "c": ByHand,
}
