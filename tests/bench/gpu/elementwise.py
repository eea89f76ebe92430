"""Operators that touch every number once, on operands that were just written: they lie in the L2 if they fit."""
import torch

import common
import kernels

HIDDEN = (4096, 5120, 8192)
HEADS = ((32, 32), (32, 8), (64, 8), (16, 16), (8, 8), (4, 4), (16, 4), (8, 2), (4, 1), (32, 4), (16, 2), (8, 1))
FFN = tuple(sorted({ffn // gpus for ffn in (11008, 14336, 25600, 28672) for gpus in (1, 2, 4, 8)}))
POSITIONS, VOCAB = 4096, 128256


class Operands:
    def __init__(self):
        self.x = common.random_bf16(8192 * 57344, 1.0)
        self.y, self.z = (torch.empty(8192 * 28672, dtype=common.BF16, device="cuda") for _ in range(2))
        self.table = common.random_bf16(VOCAB * 8192, 0.02)
        self.ids = torch.randint(0, VOCAB, (8192,), device="cuda")
        self.order = torch.randperm(8192, device="cuda")
        angles = torch.rand(POSITIONS, 64, device="cuda") * 6.28
        self.turns = torch.cat([angles.cos(), angles.sin()], 1).contiguous()
        self.positions = torch.randint(0, POSITIONS, (8192,), device="cuda")


def rows_of(x, tokens, width):
    return x[:tokens * width].view(tokens, width)


def norm(data, tokens, hidden):
    x, y, weight = rows_of(data.x, tokens, hidden), rows_of(data.y, tokens, hidden), data.table[:hidden]
    return 2 * hidden, lambda i: kernels.norm(x, weight, y)


def residual(data, tokens, hidden):
    x, y = rows_of(data.x, tokens, hidden), rows_of(data.y, tokens, hidden)
    return 3 * hidden, lambda i: torch.add(x, y, out=y)


def embedding(data, tokens, hidden):
    table, y = data.table[:VOCAB * hidden].view(VOCAB, hidden), rows_of(data.y, tokens, hidden)
    return 2 * hidden, lambda i: torch.index_select(table, 0, data.ids[:tokens], out=y)


def activation(data, tokens, ffn):
    x, y = rows_of(data.x, tokens, 2 * ffn), rows_of(data.y, tokens, ffn)
    return 3 * ffn, lambda i: kernels.activation(x, y)


def rotary(data, tokens, heads):
    qkv = rows_of(data.x, tokens, (heads[0] + 2 * heads[1]) * 128)
    return 2 * sum(heads) * 128, lambda i: kernels.rotary(qkv, data.turns, data.positions, sum(heads))


def kv_write(data, tokens, heads):
    qkv, kv_width = rows_of(data.x, tokens, (heads[0] + 2 * heads[1]) * 128), heads[1] * 128
    return 4 * kv_width, lambda i: kernels.kv_write(qkv, data.order, data.y, data.z, heads[0] * 128, kv_width)


OPERATORS = {"norm": (norm, HIDDEN), "residual": (residual, HIDDEN), "embedding": (embedding, HIDDEN),
             "activation": (activation, FFN), "rotary": (rotary, HEADS), "kv_write": (kv_write, HEADS)}
SOURCES = {"residual": "torch.add", "embedding": "torch.index_select"}


def check(data):
    x = rows_of(data.x, 8, 4096)
    y = torch.empty_like(x)
    kernels.norm(x, data.table[:4096], y)
    wanted = torch.nn.functional.rms_norm(x.double(), (4096,), data.table[:4096].double(), 1e-5)
    errors = [float((y - wanted).norm() / wanted.norm())]
    x = rows_of(data.x, 8, 22016)
    y = torch.empty(8, 11008, dtype=common.BF16, device="cuda")
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


def measure(run):
    data = Operands()
    common.attempt("check", check, data)
    points = common.spread([(name, size, m) for name, (_, sizes) in OPERATORS.items() for size in sizes
                            for m in common.TOKENS])
    rows = common.kernel_rows(run, "isolated")
    for name, size, tokens in run.shorten(points):
        if run.late():
            break
        width, launch = OPERATORS[name][0](data, tokens, size)
        guess_s = 2e-6 + 2.0 * tokens * width / 3e12
        seconds = common.attempt(f"{name} {size} {tokens}", common.median_seconds, run, launch, guess_s, 1, 0.004)
        if seconds is not None:
            rows.add(kernel=name, group=f"{name} {width}", tokens=tokens, width=width, time_us=seconds * 1e6,
                     source=f"{SOURCES.get(name, 'own kernel in Triton')}; SM {run.mhz:g} MHz")
    print(f"element-wise: {rows.count} of {len(points)} points", flush=True)
