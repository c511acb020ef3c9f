"""What is compared: each engine makes a kernel and its gradient ready to be called, in a process of its own."""

from __future__ import annotations

import copy
import os
import time
import types
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from benchmarks.kernels import Kernel


class Engine(ABC):
    """One engine's versions of one kernel, compiled for its arguments."""

    compiles_when_called = False
    differentiates = True
    preparation: float | None = None
    """Seconds of what is made once for a machine, before the first gradient."""

    def __init__(self, kernel: Kernel, args: Sequence[Any]) -> None:
        self.kernel, self.args = kernel, list(args)

    @abstractmethod
    def build_forward(self) -> None:
        """Compile the kernel; what runs once may do so at the first call instead."""

    @abstractmethod
    def build_gradient(self) -> None:
        """Differentiate and compile, without a call."""

    @abstractmethod
    def forward(self) -> Any:
        """The kernel's value."""

    @abstractmethod
    def gradient(self) -> tuple[Any, Sequence[Any]]:
        """The value, and the gradients by ``kernel.wrt``."""

    def arrays(self, gradients: Sequence[Any]) -> dict[str, Any]:
        """Gradients as arrays with names, to be compared with those of other engines."""
        import numpy as np

        return {n: np.asarray(g) for n, g in zip(self.kernel.wrt, gradients, strict=True)}


class Sdgrad(Engine):
    """This library."""

    def __init__(self, kernel: Kernel, args: Sequence[Any]) -> None:
        import sdgrad  # which takes seconds, as JAX does

        super().__init__(kernel, args)
        start = time.perf_counter()
        sdgrad.prepare()
        self.preparation = time.perf_counter() - start

    def build_forward(self) -> None:
        import sdgrad
        from sdgrad.convert.callables import bind_arguments
        from sdgrad.specialize.signature import Signature

        function = self.kernel.numpy_version
        Signature.of(function, bind_arguments(function, tuple(self.args), {}), False).primal()
        self.compiled = sdgrad.compile_forward(function)

    def forward(self) -> Any:
        return self.compiled(*self.args)

    def build_gradient(self) -> None:
        import sdgrad
        from sdgrad.convert.callables import bind_arguments

        function = sdgrad.value_and_grad(self.kernel.numpy_version, wrt=self.kernel.wrt)
        signature, _, _, request = function.question(bind_arguments(function.f, tuple(self.args), {}))
        signature.gradient(request)
        self.differentiated = function

    def gradient(self) -> tuple[Any, Sequence[Any]]:
        return self.differentiated(*self.args)


class Jax(Engine):
    """``jit`` of the function and of ``value_and_grad``; counts are static, as a user of JAX has them."""

    def __init__(self, kernel: Kernel, args: Sequence[Any]) -> None:
        import jax

        super().__init__(kernel, args)
        jax.config.update("jax_enable_x64", True)
        self.static = kernel.counts(tuple(args))
        self.own = [a if i in self.static else jax.device_put(a) for i, a in enumerate(args)]
        self.dynamic = [a for i, a in enumerate(self.own) if i not in self.static]

    def _compiled(self, function: Any) -> Any:
        import jax

        return jax.jit(function, static_argnums=self.static).lower(*self.own).compile()

    def build_forward(self) -> None:
        self.compiled = self._compiled(self.kernel.jax_version)

    def build_gradient(self) -> None:
        import jax

        both = jax.value_and_grad(self.kernel.jax_version, argnums=self.kernel.positions)
        self.differentiated = self._compiled(both)

    def forward(self) -> Any:
        import jax

        return jax.block_until_ready(self.compiled(*self.dynamic))

    def gradient(self) -> tuple[Any, Sequence[Any]]:
        import jax

        return jax.block_until_ready(self.differentiated(*self.dynamic))


class Dace(Engine):
    """``dace.autodiff``, as its documentation uses it: parsed, simplified, differentiated, compiled.

    Sizes are constants, and so are counts: loops of which DaCe knows the trips are differentiated best.
    """

    def __init__(self, kernel: Kernel, args: Sequence[Any]) -> None:
        super().__init__(kernel, args)
        import dace

        self.counts = kernel.counts(tuple(args))
        names = list(kernel.parameters)
        own = kernel.numpy_version
        function = types.FunctionType(own.__code__, own.__globals__, own.__name__, own.__defaults__, own.__closure__)
        function.__annotations__ = {names[k]: dace.compiletime for k in self.counts}
        self.program = dace.program(function)
        self.given = {n: a for k, (n, a) in enumerate(zip(names, args, strict=True)) if k not in self.counts}

    def _parsed(self) -> Any:
        sdfg = copy.deepcopy(self.program.to_sdfg(*self.args, simplify=True))
        self.passed = self.given.keys() & sdfg.arglist().keys()
        return sdfg

    def _arguments(self) -> dict[str, Any]:
        """Programs may write their arguments."""
        return {n: copy.copy(a) for n, a in self.given.items() if n in self.passed}

    def build_forward(self) -> None:
        sdfg = self._parsed()
        sdfg.name = f"{sdfg.name}_forward"
        self.compiled = sdfg.compile()

    def forward(self) -> Any:
        return self.compiled(**self._arguments())

    def build_gradient(self) -> None:
        from dace.autodiff import add_backward_pass

        sdfg = self._parsed()
        sdfg.name = f"{sdfg.name}_gradient"
        add_backward_pass(sdfg=sdfg, outputs=["__return"], inputs=list(self.kernel.wrt))
        own = {n: d for n, d in sdfg.arglist().items() if n.startswith("gradient_")}
        self.shapes = {n: (tuple(map(int, d.shape)), d.dtype.type) for n, d in own.items()}
        self.differentiated = sdfg.compile()

    def gradient(self) -> tuple[Any, Sequence[Any]]:
        import numpy as np

        made = {n: np.zeros(shape, dtype) for n, (shape, dtype) in self.shapes.items()}
        made["gradient___return"] = np.ones(1)
        value = self.differentiated(**self._arguments(), **made)
        return value, [made[f"gradient_{n}"] for n in self.kernel.wrt]


class DaceOptimized(Dace):
    """DaCe's own optimization of the function alone."""

    differentiates = False

    def build_forward(self) -> None:
        import dace
        from dace.transformation.auto.auto_optimize import auto_optimize

        sdfg = self._parsed()
        sdfg.name = f"{sdfg.name}_optimized"
        self.compiled = auto_optimize(sdfg, dace.DeviceType.CPU).compile()


class NumPy(Engine):
    """The function as it stands."""

    differentiates = False

    def build_forward(self) -> None:
        pass

    def build_gradient(self) -> None:
        raise NotImplementedError("NumPy does not differentiate")

    def forward(self) -> Any:
        return self.kernel.numpy_version(*[copy.copy(a) for a in self.args])

    def gradient(self) -> tuple[Any, Sequence[Any]]:
        raise NotImplementedError("NumPy does not differentiate")


class Eager(Engine):
    """PyTorch in eager mode."""

    def __init__(self, kernel: Kernel, args: Sequence[Any]) -> None:
        import torch

        super().__init__(kernel, args)
        if kernel.torch_version is None:
            raise NotImplementedError("no version in PyTorch")
        torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
        self.function = self.made(kernel.torch_version)
        self.own = [torch.as_tensor(a) if hasattr(a, "shape") else a for a in args]

    def made(self, function: Any) -> Any:
        return function

    def build_forward(self) -> None:
        pass

    def build_gradient(self) -> None:
        pass

    def forward(self) -> Any:
        import torch

        with torch.no_grad():
            return self.function(*self.own)

    def gradient(self) -> tuple[Any, Sequence[Any]]:
        import torch

        leaves = [a.detach().requires_grad_() if k in self.kernel.positions else a for k, a in enumerate(self.own)]
        value = self.function(*leaves)
        found = torch.autograd.grad(value, [leaves[k] for k in self.kernel.positions])
        return value.detach(), found


class Compiled(Eager):
    """PyTorch with ``torch.compile``."""

    compiles_when_called = True

    def made(self, function: Any) -> Any:
        import torch

        return torch.compile(function)


ENGINES: dict[str, type[Engine]] = {
    "sdgrad": Sdgrad,
    "jax": Jax,
    "dace": Dace,
    "dace-optimized": DaceOptimized,
    "numpy": NumPy,
    "torch": Eager,
    "torch-compile": Compiled,
}
