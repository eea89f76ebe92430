"""Operators that touch every number once, on operands that were just written: they lie in the L2 if they fit."""
import torch

from . import kernels, timing
from .runner import Skip

POSITIONS, VOCAB = 4096, 128256


class Operands:
    def __init__(self):
        self.x = timing.random_bf16(8192 * 57344, 1.0)
        self.y, self.z = (torch.empty(8192 * 28672, dtype=timing.BF16, device="cuda") for _ in range(2))
        self.table = timing.random_bf16(VOCAB * 8192, 0.02)
        self.ids = torch.randint(0, VOCAB, (8192,), device="cuda")
        self.order = torch.randperm(8192, device="cuda")
        angles = torch.rand(POSITIONS, 64, device="cuda") * 6.28
        self.turns = torch.cat([angles.cos(), angles.sin()], 1).contiguous()
        self.positions = torch.randint(0, POSITIONS, (8192,), device="cuda")


def rows_of(x, tokens, width):
    return x[:tokens * width].view(tokens, width)


def norm(data, tokens, hidden):
    x, y, weight = rows_of(data.x, tokens, hidden), rows_of(data.y, tokens, hidden), data.table[:hidden]
    return lambda i: kernels.norm(x, weight, y)


def residual(data, tokens, hidden):
    x, y = rows_of(data.x, tokens, hidden), rows_of(data.y, tokens, hidden)
    return lambda i: torch.add(x, y, out=y)


def embedding(data, tokens, hidden):
    table, y = data.table[:VOCAB * hidden].view(VOCAB, hidden), rows_of(data.y, tokens, hidden)
    return lambda i: torch.index_select(table, 0, data.ids[:tokens], out=y)


def activation(data, tokens, ffn):
    x, y = rows_of(data.x, tokens, 2 * ffn), rows_of(data.y, tokens, ffn)
    return lambda i: kernels.activation(x, y)


def rotary(data, tokens, heads):
    qkv = rows_of(data.x, tokens, (heads[0] + 2 * heads[1]) * 128)
    return lambda i: kernels.rotary(qkv, data.turns, data.positions, sum(heads))


def kv_write(data, tokens, heads):
    qkv, kv_width = rows_of(data.x, tokens, (heads[0] + 2 * heads[1]) * 128), heads[1] * 128
    return lambda i: kernels.kv_write(qkv, data.order, data.y, data.z, heads[0] * 128, kv_width)


OPERATORS = {"norm": norm, "residual": residual, "embedding": embedding, "activation": activation, "rotary": rotary,
             "kv_write": kv_write}
SOURCES = {"residual": "torch.add", "embedding": "torch.index_select"}


def check(data):
    x = rows_of(data.x, 8, 4096)
    y = torch.empty_like(x)
    kernels.norm(x, data.table[:4096], y)
    wanted = torch.nn.functional.rms_norm(x.double(), (4096,), data.table[:4096].double(), 1e-5)
    errors = [float((y - wanted).norm() / wanted.norm())]
    x = rows_of(data.x, 8, 22016)
    y = torch.empty(8, 11008, dtype=timing.BF16, device="cuda")
    kernels.activation(x, y)
    wanted = torch.nn.functional.silu(x[:, :11008].double()) * x[:, 11008:].double()
    errors.append(float((y - wanted).norm() / wanted.norm()))
    qkv = rows_of(data.x, 8, 6 * 128).clone()
    kernels.rotary(qkv, data.turns, data.positions, 5)
    before = rows_of(data.x, 8, 6 * 128).view(8, 6, 2, 64).double()[:, :5]
    cosine, sine = data.turns[data.positions[:8]].double().view(8, 1, 2, 64).unbind(2)
    wanted = torch.stack([before[:, :, 0] * cosine - before[:, :, 1] * sine,
                          before[:, :, 1] * cosine + before[:, :, 0] * sine], 2)
    errors.append(float((qkv.view(8, 6, 2, 64)[:, :5] - wanted).norm() / wanted.norm()))
    print(f"norm, activation, rotary: errors {errors}", flush=True)
    if not max(errors) < 1e-2:
        raise Skip(f"a kernel is wrong: errors against float64 of norm, activation, rotary are {errors}")


class Elementwise:
    def __init__(self, run):
        self.run, self.data = run, Operands()
        check(self.data)

    def measure(self, point):
        name, tokens = point["kernel"], point["tokens"]
        launch = OPERATORS[name](self.data, tokens, point["_size"])
        guess_s = 2e-6 + 2.0 * tokens * point["width"] / 3e12
        seconds = timing.median_seconds(self.run, launch, guess_s, 1, 0.004)
        return timing.timed(self.run, seconds, SOURCES.get(name, "own kernel in Triton"))
