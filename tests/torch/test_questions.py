"""What modules ask beside numbers: how tensors lie is noticed, whether there are gradients is refused by name."""

import pytest
import torch
from torch import is_grad_enabled, nn

import sdgrad
from sdgrad.errors import CaptureError


class Asking(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function, self.weight = function, nn.Parameter(torch.tensor([2.0, 3.0]))

    def forward(self, x):
        return self.function(x, self.weight)


QUESTIONS = {
    "torch.is_grad_enabled": lambda x, w: x * w if torch.is_grad_enabled() else x,
    "torch.is_inference_mode_enabled": lambda x, w: x * w if torch.is_inference_mode_enabled() else x,
    "is_grad_enabled": lambda x, w: x * w if is_grad_enabled() else x,
    "x.requires_grad": lambda x, w: x * w if x.requires_grad else x,
    "x.is_leaf": lambda x, w: x * w if x.is_leaf else x,
    "x.grad_fn": lambda x, w: x * w if (x * w).grad_fn is None else x,
}


@pytest.mark.parametrize("name", QUESTIONS)
def test_questions_of_gradients_are_refused(name):
    """The answer stayed as it was when the module was traced."""
    with pytest.raises(CaptureError, match=rf"{name}(.|\n)*ask for self.training"):
        sdgrad.Module(Asking(QUESTIONS[name]))(torch.ones(2))


LAYOUTS = {
    "contiguous": lambda x, w: x * w if x.is_contiguous() else x,
    "strides": lambda x, w: x * w * x.stride(0),
}


@pytest.mark.parametrize("name", LAYOUTS)
def test_answers_to_questions_of_layouts_are_those_of_the_call(name):
    """They stayed as they were in the first call."""
    own = Asking(LAYOUTS[name])
    module, x = sdgrad.Module(own), torch.arange(6.0).reshape(3, 2)
    for given in (x, x.T.contiguous().T, x, torch.arange(6.0).reshape(2, 3).T):
        torch.testing.assert_close(module(given), own(given))


@pytest.mark.parametrize("mode", [torch.inference_mode, torch.no_grad])
def test_a_first_call_without_gradients(mode):
    """A first call in inference mode was refused."""
    own = nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2), nn.Tanh())
    module, x = sdgrad.Module(own), torch.randn(4, 3)
    with mode():
        given = x * 1  # of an inference mode, too
        first = module(given)
        torch.testing.assert_close(first, own(given))
    assert not first.requires_grad
    found, wanted = (torch.autograd.grad(m(x).square().sum(), own[0].weight) for m in (module, own))
    torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-5)
    with mode():
        torch.testing.assert_close(module(given), own(given))


# -- hooks


@sdgrad.module
class Hooked(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner, self.outer = nn.Linear(2, 2), nn.Linear(2, 1)

    def forward(self, x):
        return self.outer(torch.tanh(self.inner(x)))


def test_hooks_of_all_modules_see_those_of_the_user():
    """They were called for what holds a module where it is traced, too."""
    every = nn.modules.module
    module = Hooked()
    own = nn.Sequential(module.inner, nn.Tanh(), module.outer)
    x = torch.tensor([0.5, -1.0])
    for register, hook in (
        (every.register_module_forward_pre_hook, lambda m, args: (args[0] * 2,) if type(m) is not nn.Tanh else None),
        (every.register_module_forward_hook, lambda m, args, y: y * 3 if type(m) is not nn.Tanh else None),
    ):
        torch.testing.assert_close(module(x), own(x))
        handle = register(hook)
        try:
            torch.testing.assert_close(module(x), own(x))
        finally:
            handle.remove()
    torch.testing.assert_close(module(x), own(x))
    handle = every.register_module_full_backward_hook(lambda m, given, made: None)
    try:
        with pytest.raises(CaptureError, match="backward hooks of all modules"):
            module(x)
    finally:
        handle.remove()


def test_hooks_that_set_weights_are_refused_with_what_to_write():
    module = nn.Sequential(nn.Linear(2, 2))
    nn.utils.prune.l1_unstructured(module[0], "weight", 0.5)
    with pytest.raises(CaptureError, match=r"prune.remove(.|\n)*register_parametrization"):
        sdgrad.Module(module)(torch.ones(2))
    nn.utils.prune.remove(module[0], "weight")
    torch.testing.assert_close(sdgrad.Module(module)(torch.ones(2)), module(torch.ones(2)))
