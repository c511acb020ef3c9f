"""Recurrent layers as the ONNX standard writes them down, in PyTorch, a step at a time."""

import numpy as np
import torch


def inside(lengths, x, t):
    """Which sequences are as long, as a column."""
    return torch.as_tensor(t < (np.full(x.shape[1], len(x)) if lengths is None else np.asarray(lengths)))[:, None]


def lstm(x, w, r, b, h0, c0, holes=None, *, lengths=None, reverse=(False,)):
    """Gates in the order input, output, forget, cell; ``holes`` are the peepholes."""
    h, c, n, rows = list(h0), list(c0), r.shape[2], []
    for d, backwards in enumerate(reverse):
        outputs, order = [], slice(None, None, -1 if backwards else 1)
        for t in range(len(x))[order]:
            now = inside(lengths, x, t)
            i, o, f, g = (x[t] @ w[d].T + h[d] @ r[d].T + b[d, : 4 * n] + b[d, 4 * n :]).split(n, 1)
            p, q, s = holes[d].split(n) if holes is not None else (0, 0, 0)
            later = torch.sigmoid(f + s * c[d]) * c[d] + torch.sigmoid(i + p * c[d]) * torch.tanh(g)
            new = torch.sigmoid(o + q * later) * torch.tanh(later)
            outputs.append(torch.where(now, new, 0))
            h[d], c[d] = torch.where(now, new, h[d]), torch.where(now, later, c[d])
        rows.append(torch.stack(outputs[order]))
    return torch.stack(rows, 1), torch.stack(h), torch.stack(c)


def gru(x, w, r, b, h0, *, lengths=None, reverse=(False,), linear=False):
    """Gates in the order update, reset, hidden; ``linear``: the reset gate comes behind the product."""
    h, n, rows = list(h0), r.shape[2], []
    for d, backwards in enumerate(reverse):
        outputs, order = [], slice(None, None, -1 if backwards else 1)
        for t in range(len(x))[order]:
            now = inside(lengths, x, t)
            own, wide, last = x[t] @ w[d].T + b[d, : 3 * n], r[d, 2 * n :].T, b[d, 5 * n :]
            again = h[d] @ r[d, : 2 * n].T + b[d, 3 * n : 5 * n]
            z, reset = torch.sigmoid(own[:, : 2 * n] + again).split(n, 1)
            inner = reset * (h[d] @ wide + last) if linear else (reset * h[d]) @ wide + last
            new = (1 - z) * torch.tanh(own[:, 2 * n :] + inner) + z * h[d]
            outputs.append(torch.where(now, new, 0))
            h[d] = torch.where(now, new, h[d])
        rows.append(torch.stack(outputs[order]))
    return torch.stack(rows, 1), torch.stack(h)


def batch_first(function, states):
    """The layer with sequences as rows: ``layout=1``."""

    def swapped(x, w, r, b, *rest):
        first = (s.transpose(0, 1) for s in rest[:states])
        y, *final = function(x.transpose(0, 1), w, r, b, *first, *rest[states:])
        return (y.permute(2, 0, 1, 3), *(f.transpose(0, 1) for f in final))

    return swapped
