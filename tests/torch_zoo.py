"""Modules of PyTorch to compare with themselves: name, module and arguments of a call."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812

ZOO: dict[str, Callable] = {}


def module(make: Callable) -> Callable:
    """Register a function that makes a module and the arguments of a call."""
    ZOO[make.__name__] = make
    return make


class Function(nn.Module):
    """A function as a module."""

    def __init__(self, function: Callable) -> None:
        super().__init__()
        self.function = function

    def forward(self, *args, **kwargs):
        return self.function(*args, **kwargs)


class Basic(nn.Module):
    """The basic block of ResNet-18."""

    def __init__(self, before: int, after: int, stride: int) -> None:
        super().__init__()
        self.c1, self.b1 = nn.Conv2d(before, after, 3, stride, 1, bias=False), nn.BatchNorm2d(after)
        self.c2, self.b2 = nn.Conv2d(after, after, 3, 1, 1, bias=False), nn.BatchNorm2d(after)
        self.short = nn.Sequential(nn.Conv2d(before, after, 1, stride, bias=False), nn.BatchNorm2d(after))

    def forward(self, x):
        y = F.relu(self.b1(self.c1(x)), inplace=True)
        return F.relu(self.b2(self.c2(y)) + self.short(x))


@module
def classifier():
    """The example of DaCeML's documentation."""
    layers = nn.Linear(784, 120), nn.ReLU(), nn.Linear(120, 32), nn.ReLU(), nn.Linear(32, 10), nn.LogSoftmax(1)
    return nn.Sequential(*layers), (torch.randn(8, 784),)


@module
def lenet():
    first = nn.Conv2d(1, 6, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2)
    second = nn.Conv2d(6, 16, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten()
    last = nn.Linear(400, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(), nn.Linear(84, 10)
    return nn.Sequential(*first, *second, *last), (torch.randn(3, 1, 28, 28),)


@module
def residual_block():
    return Basic(4, 8, 2), (torch.randn(2, 4, 8, 8),)


@module
def resnet18():
    """He et al. 2016, with an eighth of the channels."""

    class Same(nn.Module):
        def __init__(self, width):
            super().__init__()
            self.c1, self.b1 = nn.Conv2d(width, width, 3, 1, 1, bias=False), nn.BatchNorm2d(width)
            self.c2, self.b2 = nn.Conv2d(width, width, 3, 1, 1, bias=False), nn.BatchNorm2d(width)

        def forward(self, x):
            return F.relu(self.b2(self.c2(F.relu(self.b1(self.c1(x))))) + x)

    stem = nn.Conv2d(3, 8, 7, 2, 3, bias=False), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(3, 2, 1)
    stages = [Same(8), Same(8)]
    for width in (8, 16, 32):
        stages += [Basic(width, 2 * width, 2), Same(2 * width)]
    net = nn.Sequential(*stem, *stages, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10))
    return net, (torch.randn(4, 3, 64, 64),)


@module
def residual_block_at_rest():
    return Basic(4, 8, 2).eval(), (torch.randn(2, 4, 8, 8),)


@module
def bottleneck():
    class Bottleneck(nn.Module):
        def __init__(self):
            super().__init__()
            first = nn.Conv2d(8, 4, 1, bias=False), nn.BatchNorm2d(4), nn.ReLU()
            second = nn.Conv2d(4, 4, 3, padding=1, groups=2, bias=False), nn.BatchNorm2d(4, momentum=0.3), nn.ReLU()
            self.inner = nn.Sequential(*first, *second, nn.Conv2d(4, 8, 1, bias=False), nn.BatchNorm2d(8))

        def forward(self, x):
            return F.relu(x + self.inner(x))

    return Bottleneck(), (torch.randn(2, 8, 6, 6),)


@module
def unet():
    class UNet(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b = nn.Conv2d(1, 4, 3, padding=1), nn.Conv2d(4, 8, 3, padding=1)
            self.up, self.c = nn.ConvTranspose2d(8, 4, 2, 2), nn.Conv2d(8, 4, 3, padding=1)
            self.out = nn.Conv2d(4, 2, 1)

        def forward(self, x):
            a = F.relu(self.a(x))
            b = F.relu(self.b(F.max_pool2d(a, 2)))
            return self.out(F.relu(self.c(torch.cat([a, self.up(b)], 1))))

    return UNet(), (torch.randn(2, 1, 8, 8),)


@module
def lstm_of_words():
    class Words(nn.Module):
        def __init__(self):
            super().__init__()
            self.words = nn.Embedding(20, 6, padding_idx=0)
            self.lstm = nn.LSTM(6, 5, 2, batch_first=True, bidirectional=True, dropout=0.3)
            self.out = nn.Linear(10, 3)

        def forward(self, x):
            y, (h, c) = self.lstm(self.words(x))
            return self.out(y[:, -1]) + h.sum() + c.mean()

    return Words(), (torch.randint(0, 20, (3, 7)),)


@module
def gru_of_words():
    class Words(nn.Module):
        def __init__(self):
            super().__init__()
            self.words, self.gru, self.out = nn.Embedding(20, 6), nn.GRU(6, 5), nn.Linear(5, 3)
            self.plain = nn.RNN(6, 5, nonlinearity="relu")

        def forward(self, x):
            words = self.words(x)
            y, h = self.gru(words)
            return self.out(y[-1]) + h.sum() + self.plain(words)[0].mean()

    return Words(), (torch.randint(0, 20, (7, 3)),)


@module
def encoder():
    """With dropout in all its places, a mask of what is padded, and gates before norms."""
    layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.2, batch_first=True, norm_first=True, activation="gelu")

    class Encoder(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = nn.TransformerEncoder(layer, 1, enable_nested_tensor=False)

        def forward(self, x, padding):
            return self.inner(x, src_key_padding_mask=padding)

    return Encoder(), (torch.randn(2, 5, 8), torch.tensor([[False] * 5, [False] * 3 + [True] * 2]))


@module
def decoder():
    class Decoder(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = nn.TransformerDecoderLayer(8, 2, 16, dropout=0.0, batch_first=True)

        def forward(self, x, memory):
            mask = nn.Transformer.generate_square_subsequent_mask(x.shape[1], dtype=x.dtype)
            return self.inner(x, memory, tgt_mask=mask, tgt_is_causal=True)

    return Decoder(), (torch.randn(2, 5, 8), torch.randn(2, 4, 8))


class Causal(nn.Module):
    """A block of GPT-2."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.mixed, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.n1, self.n2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.wide = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU("tanh"), nn.Linear(4 * width, width))

    def forward(self, x):
        batch, time, width = x.shape
        parts = self.mixed(self.n1(x)).split(width, 2)
        q, k, v = (t.view(batch, time, self.heads, width // self.heads).transpose(1, 2) for t in parts)
        seen = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(seen.transpose(1, 2).reshape(batch, time, width))
        return x + self.wide(self.n2(x))


class GPT(nn.Module):
    """A small one, whose last layer shares the embedding's weights."""

    def __init__(self, words: int, width: int, heads: int, layers: int, longest: int) -> None:
        super().__init__()
        self.words, self.places = nn.Embedding(words, width), nn.Embedding(longest, width)
        self.blocks = nn.ModuleList([Causal(width, heads) for _ in range(layers)])
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, words, bias=False)
        self.head.weight = self.words.weight

    def forward(self, ids, targets=None):
        x = self.words(ids) + self.places(torch.arange(ids.shape[1]))
        for block in self.blocks:
            x = block(x)
        logits = self.head(self.norm(x))
        if targets is None:
            return logits
        return logits, F.cross_entropy(logits.view(-1, logits.shape[-1]), targets.view(-1))


@module
def gpt():
    return GPT(20, 8, 2, 1, 16), (torch.randint(0, 20, (2, 6)), torch.randint(0, 20, (2, 6)))


@module
def llama_block():
    class Llama(nn.Module):
        def __init__(self):
            super().__init__()
            self.q, self.o = nn.Linear(8, 8, bias=False), nn.Linear(8, 8, bias=False)
            self.k, self.v = nn.Linear(8, 4, bias=False), nn.Linear(8, 4, bias=False)
            self.gate, self.up, self.down = (nn.Linear(a, b, bias=False) for a, b in ((8, 16), (8, 16), (16, 8)))
            self.norm = nn.RMSNorm(8)

        @staticmethod
        def turned(x):
            time, width = x.shape[-2:]
            rates = 1 / (10000 ** (torch.arange(0, width, 2, dtype=x.dtype) / width))
            angles = torch.outer(torch.arange(time, dtype=x.dtype), rates)
            a, b = x[..., ::2], x[..., 1::2]
            both = a * angles.cos() - b * angles.sin(), a * angles.sin() + b * angles.cos()
            return torch.stack(both, -1).flatten(-2)

        def forward(self, x):
            batch, time, width = x.shape
            h = self.norm(x)
            q = self.turned(self.q(h).view(batch, time, 4, 2).transpose(1, 2))
            k = self.turned(self.k(h).view(batch, time, 2, 2).transpose(1, 2))
            v = self.v(h).view(batch, time, 2, 2).transpose(1, 2)
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
            x = x + self.o(y.transpose(1, 2).reshape(batch, time, width))
            h = self.norm(x)
            return x + self.down(F.silu(self.gate(h)) * self.up(h))

    return Llama(), (torch.randn(2, 5, 8),)


@module
def graph_convolution():
    class Graph(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b = nn.Linear(4, 6), nn.Linear(6, 3)

        @staticmethod
        def summed(messages, source, target, count):
            return torch.zeros(count, messages.shape[1], dtype=messages.dtype).index_add(0, target, messages[source])

        def forward(self, x, source, target):
            h = F.relu(self.summed(self.a(x), source, target, x.shape[0]))
            return F.log_softmax(self.summed(self.b(h), source, target, x.shape[0]), 1)

    return Graph(), (torch.randn(7, 4), torch.randint(0, 7, (15,)), torch.randint(0, 7, (15,)))


@module
def autoencoder():
    layers = nn.Linear(12, 6), nn.Tanh(), nn.Linear(6, 3), nn.Tanh(), nn.Linear(3, 6), nn.Sigmoid(), nn.Linear(6, 12)
    return nn.Sequential(*layers), (torch.randn(5, 12),)


@module
def activations():
    known = (
        F.gelu, F.silu, F.mish, F.elu, F.selu, F.celu, F.softplus, F.leaky_relu, F.hardswish, F.hardsigmoid, F.relu6,
        F.logsigmoid, F.softsign, F.tanhshrink, F.hardtanh, F.softshrink, F.hardshrink, torch.atan, torch.expm1,
    )  # fmt: skip
    return Function(lambda x: sum(f(x + 0.1 * k) for k, f in enumerate(known))), (3 * torch.randn(4, 5),)


@module
def bags_of_words():
    class Bags(nn.Module):
        def __init__(self):
            super().__init__()
            self.mean, self.sum = nn.EmbeddingBag(20, 5, mode="mean"), nn.EmbeddingBag(20, 5, mode="sum", padding_idx=1)

        def forward(self, ids, offsets):
            return self.mean(ids, offsets) + self.sum(ids.reshape(3, 3)).sum()

    return Bags(), (torch.randint(0, 20, (9,)), torch.tensor([0, 3, 3, 7]))


@module
def dropouts():
    class Dropouts(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear, self.drop, self.channels = nn.Linear(6, 6), nn.Dropout(0.4), nn.Dropout1d(0.3)

        def forward(self, x):
            y = self.drop(F.relu(self.linear(self.drop(x)))).reshape(5, 3, 2)
            return self.channels(y) + torch.rand_like(x[:, :2])[:, None]

    return Dropouts(), (torch.randn(5, 6),)


@module
def norms():
    class Norms(nn.Module):
        def __init__(self):
            super().__init__()
            self.group, self.layer = nn.GroupNorm(2, 4), nn.LayerNorm([4, 5])
            self.instance = nn.InstanceNorm2d(4, affine=True, track_running_stats=True)
            self.batch = nn.BatchNorm2d(4, affine=False)

        def forward(self, x):
            return x + self.group(x) + self.instance(x) + self.layer(x) + self.batch(x)

    return Norms(), (torch.randn(3, 4, 4, 5),)


@module
def pools():
    def forward(x):
        total = F.avg_pool2d(x, 3, 2, 1).sum() + F.max_pool2d(x, 3, 2, 1).sum() + F.lp_pool2d(x.abs() + 0.1, 2, 2).sum()
        adaptive = (F.adaptive_avg_pool2d(x, (3, 2)), F.adaptive_avg_pool2d(x, 1), F.adaptive_max_pool2d(x, (3, 2)))
        return total + sum((a**2).sum() for a in adaptive)

    return Function(forward), (torch.randn(2, 3, 8, 8),)


@module
def losses():
    def forward(x, y, target):
        ones = torch.ones(4, dtype=x.dtype)
        plain = F.mse_loss(x, y) + F.l1_loss(x, y) + F.smooth_l1_loss(x, y) + F.huber_loss(x, y)
        classes = F.cross_entropy(x, target) + F.cross_entropy(x, target, label_smoothing=0.1, reduction="sum")
        binary = F.binary_cross_entropy_with_logits(x, y.sigmoid()) + F.binary_cross_entropy(x.sigmoid(), y.sigmoid())
        apart = F.kl_div(x.log_softmax(1), y.softmax(1), reduction="batchmean") + F.cosine_embedding_loss(x, y, ones)
        return plain + classes + binary + apart + F.triplet_margin_loss(x, y, x.roll(1, 0)) + F.nll_loss(x, target)

    return Function(forward), (torch.randn(4, 5), torch.randn(4, 5), torch.randint(0, 5, (4,)))


@module
def stopped():
    def forward(x):
        with torch.no_grad():
            c = x.exp()
        return x * c + (x.round() - x).detach() * x + x

    return Function(forward), (torch.randn(4, 5),)


@module
def in_place():
    def forward(x):
        y = x * 2
        y[1:3] = y[1:3].clone() * x[0:2]
        y[:, 0] += 1
        y = y * x
        y[y > 0] = 0.5
        return y.clone().index_fill_(0, torch.tensor([1]), 3.0)

    return Function(forward), (torch.randn(4, 5),)


@module
def indexing():
    def forward(x, i):
        read = x[:, i] + x[i, i][None] + x.gather(1, i[None].expand(5, -1)) + x.take_along_dim(i[:, None], 0).sum()
        ordered = x.flip(0)[:, :4] + x.topk(4, 1)[0] + x.sort(0)[0][:, :4] + x.max(0)[0][1:] + x.cumsum(0)[:, 1:]
        parts = x.unfold(0, 2, 1).sum() + x.tril()[:, :4] + x.diagonal().sum() + torch.where(x > 0, x, -x)[:, :4]
        return read + ordered + parts + x.std(0)[1:] + x.var(1, keepdim=True) + x.norm(dim=1, keepdim=True)

    return Function(forward), (torch.randn(5, 5), torch.randint(0, 5, (4,)))


@module
def products():
    def forward(x):
        plain = torch.einsum("bij,bkj->bik", x, x) + torch.bmm(x, x.transpose(1, 2)) + x.matmul(x[0].T)
        added = torch.baddbmm(x[:, :, :3], x, x.transpose(1, 2), beta=0.5) + torch.logsumexp(x, 2, keepdim=True)
        return plain + added + torch.cdist(x, x) + F.cosine_similarity(x, x.flip(1), dim=2)[:, :, None]

    return Function(forward), (torch.randn(2, 3, 4),)


@module
def trees():
    """Dicts and tuples in and out, constants among them, and integers."""

    class Trees(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = nn.Linear(4, 4)

        def forward(self, given, *, factor=2.0):
            a, (b,) = given["a"], given["b"]
            return {"y": self.linear(a) * factor, "z": [b.sum(), (a, None, 3)], "i": a.argmax(1)}

    return Trees(), ({"a": torch.randn(3, 4), "b": (torch.randn(2),)},)


@module
def resized():
    def forward(x):
        linear = F.interpolate(x, scale_factor=2, mode="bilinear") + F.interpolate(x, scale_factor=2)
        other = F.interpolate(x, size=(8, 8), mode="bilinear", align_corners=True)
        modes = (("reflect", None), ("replicate", None), ("circular", None), ("constant", 1.5))
        padded = sum(F.pad(x, (2, 2, 2, 2), mode=mode, value=value) for mode, value in modes)
        return linear + other + padded + F.pixel_shuffle(x.repeat(1, 4, 1, 1), 2)

    return Function(forward), (torch.randn(1, 3, 4, 4),)
