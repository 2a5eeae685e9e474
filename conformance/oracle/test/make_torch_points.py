#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes torch_points.txt: what PyTorch gives in f64 for the graphs of
Samples.cpp, one line each: name, elements. Made with PyTorch 1.13 (Debian's
python3-torch); ops that it lacks are written here with its primitives.
"""
import math
import pathlib
import struct

import torch
import torch.nn.functional as F


def numbers(dims, seed, positive=False):
    """The f64 inputs of Samples.cpp."""
    values = []
    for _ in range(math.prod(dims)):
        seed = (seed * 6364136223846793005 + 1442695040888963407) % 2**64
        number = (seed >> 40) * 2.0**-22 - 2
        number = abs(number) if positive else number
        values.append(struct.unpack("f", struct.pack("f", number))[0])
    return torch.tensor(values, dtype=torch.float64).reshape(dims)


def integers(dims, seed, signed):
    values = []
    for _ in range(math.prod(dims)):
        seed = (seed * 6364136223846793005 + 1442695040888963407) % 2**64
        byte = seed >> 56
        values.append(byte - 256 if signed and byte > 127 else byte)
    return torch.tensor(values, dtype=torch.int64).reshape(dims)


def inputs(*dims):
    return [numbers(d, i + 1) for i, d in enumerate(dims)]


def small(signed, *dims):
    return [integers(d, i + 1, signed) for i, d in enumerate(dims)]


def wrapped(x, bits):
    half = 2**(bits - 1)
    return (x + half) % 2**bits - half


def attention(q, k, v, scale, cap=0.0, mask=None, causal=None):
    k = k.repeat_interleave(q.shape[1] // k.shape[1], 1)
    v = v.repeat_interleave(q.shape[1] // v.shape[1], 1)
    scores = q @ k.transpose(2, 3) * scale
    if cap:
        scores = cap * torch.tanh(scores / cap)
    if mask is not None:
        scores = scores + mask
    if causal is not None:
        seen = torch.ones(scores.shape[2:], dtype=torch.bool).tril(causal)
        scores = scores.masked_fill(~seen, -math.inf)
    return torch.nan_to_num(torch.softmax(scores, 3)) @ v


def rotary(x, cosine, sine, interleaved):
    cosine, sine = cosine[:, None], sine[:, None]
    if interleaved:
        p, q = x[..., 0::2], x[..., 1::2]
    else:
        p, q = x.chunk(2, 3)
    parts = [p * cosine - q * sine, p * sine + q * cosine]
    return torch.stack(parts, 4).flatten(3) if interleaved else torch.cat(parts, 3)


def results():
    (x,) = inputs((97,))
    _, y = inputs((97,), (97,))
    positive = numbers((97,), 1, True)
    yield "add", x + y
    yield "div", x / y
    yield "pow", positive ** y
    yield "exp", torch.exp(x)
    yield "log1p", torch.log1p(x / 4)
    yield "expm1", torch.expm1(x)
    yield "erf", torch.erf(x)
    yield "tanh", torch.tanh(x)
    yield "sin", torch.sin(x)
    yield "atan", torch.atan(x)
    a, b = inputs((2, 3, 5), (2, 5, 4))
    yield "matmul", a @ b
    a, b = inputs((2, 5, 3), (4, 5))
    yield "matmul-2", a.transpose(1, 2) @ b.T
    a, b = inputs((2, 4, 7, 6), (6, 2, 3, 2))
    yield "conv", F.conv2d(F.pad(a, (2, 1, 1, 0)), b, stride=(2, 1),
                           dilation=(1, 2), groups=2)
    a, b = inputs((2, 4, 5, 3), (4, 3, 3, 2))
    yield "conv_transpose", F.conv_transpose2d(a, b, stride=(2, 3), groups=2,
                                               padding=(1, 0), dilation=(1, 2))
    (a,) = inputs((2, 3, 9, 8))
    padded = F.pad(a, (1, 1, 1, 1), value=-math.inf)
    yield "pool", F.max_pool2d(padded, (3, 2), stride=2, dilation=(1, 2))
    yield "avg_pool", F.avg_pool2d(F.pad(a, (1, 0, 1, 0)), (3, 2), stride=1) \
        * 6 / F.conv2d(F.pad(torch.ones(1, 1, 9, 8, dtype=a.dtype), (1, 0, 1, 0)),
                       torch.ones(1, 1, 3, 2, dtype=a.dtype))
    (a,) = inputs((4, 9, 5))
    yield "reduce-sum", a.sum((0, 2))
    (a,) = inputs((4, 9))
    yield "reduce-prod", a.prod(1)
    yield "reduce-max", a.amax(0)
    (a,) = inputs((4, 9, 2))
    yield "cumulative", a.cumsum(1)
    yield from activations(x, y)
    yield from lines()
    yield from others()


def activations(x, y):
    yield "sigmoid", torch.sigmoid(x)
    yield "silu", F.silu(x)
    yield "softplus", F.softplus(x)
    yield "softsign", F.softsign(x)
    yield "mish", F.mish(x)
    yield "hard_swish", F.hardswish(x)
    yield "hard_sigmoid", torch.clamp(x * 0.3 + 0.4, 0, 1)
    yield "leaky_relu", F.leaky_relu(x, 0.1)
    yield "elu", F.elu(x, 1.3)
    yield "celu", F.celu(x, 1.7)
    yield "selu", F.selu(x)
    yield "relu", F.relu(x)
    yield "clamp", x.clamp(-1, 0.5)
    yield "prelu", torch.where(x >= 0, x, x * y)
    a, b = small(True, (97,), (97,))
    yield "prelu-2", torch.where(a >= 0, a, wrapped(a * b, 8))
    yield "gelu", F.gelu(x)
    yield "gelu-2", F.gelu(x, approximate="tanh")


def lines():
    (a,) = inputs((5, 7, 3))
    yield "softmax", torch.softmax(a, 1)
    yield "log_sum_exp", torch.logsumexp(a, (0, 2))
    (a,) = inputs((5, 7))
    yield "log_softmax", torch.log_softmax(a, 1)
    yield "log_sum_exp-2", torch.logsumexp(a, 1, keepdim=True)
    a, s, b = inputs((3, 5, 7), (5, 7), (5, 7))
    yield "layer_norm", F.layer_norm(a, (5, 7), s, b)
    a, s = inputs((3, 5, 7), (7,))
    yield "rms_norm", a * torch.rsqrt((a * a).mean(2, keepdim=True) + 1e-5) * s
    a, s, b = inputs((2, 6, 5), (6,), (6,))
    yield "group_norm", F.group_norm(a, 3, s, b)
    a, s, b = inputs((2, 4, 3, 5), (4,), (4,))
    yield "group_norm-2", F.instance_norm(a, weight=s, bias=b)
    a, s, b, mean = inputs((2, 3, 5), (3,), (3,), (3,))
    yield "batch_norm", F.batch_norm(a, mean, numbers((3,), 5, True), s, b)


def others():
    q, k, v, mask = inputs((2, 4, 3, 8), (2, 2, 5, 8), (2, 2, 5, 6), (1, 4, 3, 5))
    yield "attention", attention(q, k, v, 0.35, 3.0, mask, 1)
    q, k, v = inputs((1, 2, 4, 8), (1, 2, 4, 8), (1, 2, 4, 8))
    yield "attention-2", attention(q, k, v, 0.25, causal=-1)
    x, cosine, sine = inputs((2, 3, 5, 8), (2, 5, 4), (2, 5, 4))
    yield "rotary", rotary(x, cosine, sine, False)
    yield "rotary-2", rotary(x, cosine, sine, True)
    a, b, p, q = small(True, (2, 3, 5), (2, 5, 4), (3,), (4,))
    yield "matmul_integer", (a - p[:, None]) @ (b - q)
    a, b, p, q = small(False, (5, 3), (4, 5), (), ())
    yield "matmul_integer-2", (a - p).T @ (b - q).T
    x, w, p, q = small(False, (2, 4, 7, 6), (6, 2, 3, 2), (), (6,))
    padded = F.pad((x - p).double(), (2, 1, 1, 0))
    yield "conv_integer", F.conv2d(padded, (w - q[:, None, None, None]).double(),
                                   stride=(2, 1), dilation=(1, 2), groups=2)


def main():
    rows = [" ".join([name] + [float(v).hex() for v in value.flatten().tolist()])
              for name, value in results()]
    out = pathlib.Path(__file__).with_name("torch_points.txt")
    out.write_text("\n".join(rows) + "\n")
    print(f"{len(rows)} graphs in {out.name}")


if __name__ == "__main__":
    main()
