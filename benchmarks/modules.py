"""A training step of PyTorch modules on generated code, beside eager mode and ``torch.compile``.

``python -m benchmarks.modules --modules mlp,gpt --engines sdgrad,eager,compile --threads 1 --reps 9``

A step is forward, a mean of squares as the loss, and backward to all weights, in float32. Gradients are compared first.
Every repetition runs every engine, and medians are reported, as ratios. ``first`` is the first step, from nothing.
``open`` is sdgrad with one program for all batch sizes.
"""

from __future__ import annotations

import argparse
import copy
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from typing import Any

from benchmarks.clock import limit_threads, medians

ENGINES = ("sdgrad", "open", "eager", "compile")
TOLERANCE = 1e-3


def modules() -> dict[str, Callable[[], tuple[Any, tuple]]]:
    """What is measured: functions that make a module and the arguments of a step."""
    import torch
    from torch import nn
    from torch.nn import functional as F  # noqa: N812

    class Basic(nn.Module):
        """A basic block of ResNet-18."""

        def __init__(self, before: int, after: int, stride: int) -> None:
            super().__init__()
            self.c1, self.b1 = nn.Conv2d(before, after, 3, stride, 1, bias=False), nn.BatchNorm2d(after)
            self.c2, self.b2 = nn.Conv2d(after, after, 3, 1, 1, bias=False), nn.BatchNorm2d(after)
            plain = stride == 1 and before == after
            self.short = nn.Identity() if plain else nn.Conv2d(before, after, 1, stride, bias=False)

        def forward(self, x):
            return F.relu(self.b2(self.c2(F.relu(self.b1(self.c1(x))))) + self.short(x))

    class Words(nn.Module):
        """Words through an LSTM to classes."""

        def __init__(self) -> None:
            super().__init__()
            self.words, self.lstm = nn.Embedding(1000, 64), nn.LSTM(64, 64, batch_first=True)
            self.out = nn.Linear(64, 10)

        def forward(self, x):
            return self.out(self.lstm(self.words(x))[0][:, -1])

    class Causal(nn.Module):
        """A block of GPT-2."""

        def __init__(self, width: int, heads: int) -> None:
            super().__init__()
            self.heads, self.mixed, self.out = heads, nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.n1, self.n2 = nn.LayerNorm(width), nn.LayerNorm(width)
            self.wide = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

        def forward(self, x):
            batch, time_, width = x.shape
            parts = self.mixed(self.n1(x)).split(width, 2)
            q, k, v = (t.view(batch, time_, self.heads, -1).transpose(1, 2) for t in parts)
            seen = F.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + self.out(seen.transpose(1, 2).reshape(batch, time_, width))
            return x + self.wide(self.n2(x))

    class UNet(nn.Module):
        """Ronneberger et al. 2015, with two levels."""

        def __init__(self) -> None:
            super().__init__()
            self.a, self.b = nn.Conv2d(1, 8, 3, padding=1), nn.Conv2d(8, 16, 3, padding=1)
            self.bottom = nn.Conv2d(16, 32, 3, padding=1)
            self.up, self.c = nn.ConvTranspose2d(32, 16, 2, 2), nn.Conv2d(32, 16, 3, padding=1)
            self.top, self.d = nn.ConvTranspose2d(16, 8, 2, 2), nn.Conv2d(16, 8, 3, padding=1)
            self.out = nn.Conv2d(8, 2, 1)

        def forward(self, x):
            a = F.relu(self.a(x))
            b = F.relu(self.b(F.max_pool2d(a, 2)))
            low = F.relu(self.bottom(F.max_pool2d(b, 2)))
            c = F.relu(self.c(torch.cat([b, self.up(low)], 1)))
            return self.out(F.relu(self.d(torch.cat([a, self.top(c)], 1))))

    def mlp():
        layers = nn.Linear(784, 120), nn.ReLU(), nn.Linear(120, 32), nn.ReLU(), nn.Linear(32, 10), nn.LogSoftmax(1)
        return nn.Sequential(*layers), (torch.randn(128, 784),)

    def lenet():
        first = nn.Conv2d(1, 6, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(6, 16, 5), nn.ReLU()
        last = nn.Linear(400, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(), nn.Linear(84, 10)
        return nn.Sequential(*first, nn.MaxPool2d(2), nn.Flatten(), *last), (torch.randn(64, 1, 28, 28),)

    return {
        "mlp": mlp,
        "lenet": lenet,
        "residual": lambda: (nn.Sequential(Basic(64, 64, 1), Basic(64, 128, 2)), (torch.randn(8, 64, 32, 32),)),
        "lstm": lambda: (Words(), (torch.randint(0, 1000, (32, 40)),)),
        "encoder": lambda: (
            nn.TransformerEncoderLayer(128, 4, 512, dropout=0.0, batch_first=True),
            (torch.randn(16, 64, 128),),
        ),
        "unet": lambda: (UNet(), (torch.randn(4, 1, 64, 64),)),
        "gpt": lambda: (nn.Sequential(Causal(128, 4), Causal(128, 4)), (torch.randn(8, 64, 128),)),
    }


def wrapped(engine: str, module: Any) -> Any:
    """A module as an engine runs it."""
    import torch

    import sdgrad

    if engine == "sdgrad":
        return sdgrad.Module(module)
    if engine == "open":
        return sdgrad.Module(module, dynamic_shapes=({0: "batch"},))
    return module if engine == "eager" else torch.compile(module)


def step(module: Any, args: Sequence[Any]) -> None:
    """One training step without the optimizer; gradients are dropped first."""
    for p in module.parameters():
        p.grad = None
    (module(*args) ** 2).mean().backward()


def run(name: str, make: Callable[[], tuple[Any, tuple]], engines: Sequence[str], reps: int) -> str:
    """A row of the table."""
    import torch

    torch.manual_seed(0)
    module, args = make()
    twins = {e: wrapped(e, copy.deepcopy(module)) for e in engines}
    first = {}
    for engine, twin in twins.items():
        start = time.perf_counter()
        step(twin, args)
        first[engine] = time.perf_counter() - start
    step(module, args)
    for engine, twin in twins.items():
        for mine, right in zip(twin.parameters(), module.parameters(), strict=True):
            apart = (mine.grad - right.grad).abs().max() / (1e-6 + right.grad.abs().max())
            if apart > TOLERANCE:
                return f"| {name} | {engine}: a gradient is {apart:.1e} apart |"
    times = medians({e: (lambda t=t: step(t, args)) for e, t in twins.items()}, reps)
    mine = times["sdgrad"]
    ratios = [f"{mine / times[e]:.2f}" for e in engines if e != "sdgrad"]
    return f"| {name} | {1e3 * mine:.2f} | {' | '.join(ratios)} | {' | '.join(f'{first[e]:.1f}' for e in engines)} |"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--modules", help="names, with commas; all unless given")
    parser.add_argument("--engines", default="sdgrad,eager", help=f"of {', '.join(ENGINES)}; sdgrad among them")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--reps", type=int, default=9)
    given = parser.parse_args()
    limit_threads(given.threads)
    import torch

    import sdgrad

    torch.set_num_threads(given.threads)
    engines = given.engines.split(",")
    known = modules()
    chosen = given.modules.split(",") if given.modules else list(known)
    if unknown := [n for n in chosen if n not in known] + [e for e in engines if e not in ENGINES]:
        parser.error(f"unknown: {', '.join(unknown)}; there are {', '.join(known)} and {', '.join(ENGINES)}")
    others = [e for e in engines if e != "sdgrad"]
    head = ["module", "sdgrad, ms", *(f"over {e}" for e in others), *(f"first, s: {e}" for e in engines)]
    print(f"| {' | '.join(head)} |")
    print("|" + "---|" * (2 + len(others) + len(engines)))
    with tempfile.TemporaryDirectory() as folder, sdgrad.config.override(cache_dir=folder):
        for name in chosen:
            print(run(name, known[name], engines, given.reps), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
