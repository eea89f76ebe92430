"""Kernels that an engine brings itself, in Triton: element-wise operators, narrowing to fp8, attention of decoding
sequences with the sequence cut into parts (split-KV)."""
import torch
import triton
import triton.language as tl


@triton.jit
def norm_kernel(x, weight, y, width, BLOCK: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, BLOCK)
    mask = at < width
    value = tl.load(x + row * width + at, mask, 0.0).to(tl.float32)
    scale = tl.rsqrt(tl.sum(value * value) / width + 1e-5)
    value *= scale * tl.load(weight + at, mask, 0.0).to(tl.float32)
    tl.store(y + row * width + at, value.to(tl.bfloat16), mask)


@triton.jit
def add_norm_kernel(x, residual, weight, y, width, BLOCK: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, BLOCK)
    mask = at < width
    value = tl.load(x + row * width + at, mask, 0.0).to(tl.float32)
    value += tl.load(residual + row * width + at, mask, 0.0).to(tl.float32)
    tl.store(residual + row * width + at, value.to(tl.bfloat16), mask)
    scale = tl.rsqrt(tl.sum(value * value) / width + 1e-5)
    value *= scale * tl.load(weight + at, mask, 0.0).to(tl.float32)
    tl.store(y + row * width + at, value.to(tl.bfloat16), mask)


@triton.jit
def rotary_kernel(qkv, turns, positions, row_width, HEADS: tl.constexpr, PADDED: tl.constexpr, HALF: tl.constexpr):
    """In place, the first HEADS heads of a row; turns: cosines and sines of a position side by side."""
    row = tl.program_id(0)
    head, at = tl.arange(0, PADDED)[:, None], tl.arange(0, HALF)[None, :]
    position = tl.load(positions + row)
    cosine = tl.load(turns + position * 2 * HALF + at).to(tl.float32)
    sine = tl.load(turns + position * 2 * HALF + HALF + at).to(tl.float32)
    first = qkv + row * row_width + head * 2 * HALF + at
    mask = (head < HEADS) & (at < HALF)
    a, b = tl.load(first, mask, 0.0).to(tl.float32), tl.load(first + HALF, mask, 0.0).to(tl.float32)
    tl.store(first, (a * cosine - b * sine).to(tl.bfloat16), mask)
    tl.store(first + HALF, (b * cosine + a * sine).to(tl.bfloat16), mask)


@triton.jit
def kv_write_kernel(qkv, slots, keys, values, row_width, q_width, kv_width, BLOCK: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, BLOCK)
    mask = at < kv_width
    slot = tl.load(slots + row).to(tl.int64)
    first = qkv + row * row_width + q_width + at
    tl.store(keys + slot * kv_width + at, tl.load(first, mask), mask)
    tl.store(values + slot * kv_width + at, tl.load(first + kv_width, mask), mask)


@triton.jit
def activation_kernel(gate_up, y, width, BLOCK: tl.constexpr):
    row, at = tl.program_id(0).to(tl.int64), tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    mask = at < width
    gate = tl.load(gate_up + row * 2 * width + at, mask, 0.0).to(tl.float32)
    up = tl.load(gate_up + row * 2 * width + width + at, mask, 0.0).to(tl.float32)
    tl.store(y + row * width + at, (gate * tl.sigmoid(gate) * up).to(tl.bfloat16), mask)


@triton.jit
def narrow_kernel(x, y, scale, count, BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at, at < count, 0.0).to(tl.float32) * tl.load(scale)
    tl.store(y + at, tl.minimum(tl.maximum(value, -448.0), 448.0).to(tl.float8e4nv), at < count)


@triton.jit
def decode_kernel(q, k, v, y, part, weight, context, part_tokens, scale, q_stride, KV_HEADS: tl.constexpr,
                  GROUP: tl.constexpr, ROWS: tl.constexpr, D: tl.constexpr, BLOCK: tl.constexpr, SPLIT: tl.constexpr):
    """One part of one sequence and KV head; GROUP query heads share it, padded to ROWS."""
    sequence, head, at = tl.program_id(0).to(tl.int64), tl.program_id(1), tl.program_id(2)
    row, dim, token = tl.arange(0, ROWS), tl.arange(0, D), tl.arange(0, BLOCK)
    is_row = (row < GROUP)[:, None]
    queries = tl.load(q + sequence * q_stride + (head * GROUP + row)[:, None] * D + dim[None, :], is_row, 0.0)
    begin = at * part_tokens
    end = tl.minimum(begin + part_tokens, context)
    base = sequence * context * KV_HEADS * D + head * D
    most = tl.full([ROWS], float("-inf"), tl.float32)
    total = tl.zeros([ROWS], tl.float32)
    result = tl.zeros([ROWS, D], tl.float32)
    for first in range(begin, end, BLOCK):
        seen = first + token < end
        place = base + (first + token).to(tl.int64)[:, None] * (KV_HEADS * D) + dim[None, :]
        keys = tl.load(k + place, seen[:, None], 0.0)
        values = tl.load(v + place, seen[:, None], 0.0)
        score = tl.where(seen[None, :], tl.dot(queries, tl.trans(keys)) * scale, float("-inf"))
        higher = tl.maximum(most, tl.max(score, 1))
        share = tl.exp2(score - higher[:, None])
        shrink = tl.exp2(most - higher)
        total = total * shrink + tl.sum(share, 1)
        result = result * shrink[:, None] + tl.dot(share.to(tl.bfloat16), values)
        most = higher
    result = result / total[:, None]
    to = ((sequence * KV_HEADS + head) * GROUP + row)
    if SPLIT:
        to = to * tl.num_programs(2) + at
        tl.store(part + to[:, None] * D + dim[None, :], result, is_row)
        tl.store(weight + to, most + tl.log2(total), row < GROUP)
    else:
        tl.store(y + to[:, None] * D + dim[None, :], result.to(tl.bfloat16), is_row)


@triton.jit
def join_kernel(part, weight, y, PARTS: tl.constexpr, PADDED: tl.constexpr, D: tl.constexpr):
    head, at, dim = tl.program_id(0).to(tl.int64), tl.arange(0, PADDED), tl.arange(0, D)
    logs = tl.load(weight + head * PARTS + at, at < PARTS, float("-inf"))
    share = tl.exp2(logs - tl.max(logs))
    parts = tl.load(part + (head * PARTS + at)[:, None] * D + dim[None, :], (at < PARTS)[:, None], 0.0)
    tl.store(y + head * D + dim, (tl.sum(parts * share[:, None], 0) / tl.sum(share)).to(tl.bfloat16))


def warps(width):
    return 4 if width <= 2048 else 8 if width <= 8192 else 16


def norm(x, weight, y):
    width = x.shape[1]
    norm_kernel[(x.shape[0],)](x, weight, y, width, triton.next_power_of_2(width), num_warps=warps(width))


def add_norm(x, residual, weight, y):
    width = x.shape[1]
    block = triton.next_power_of_2(width)
    add_norm_kernel[(x.shape[0],)](x, residual, weight, y, width, block, num_warps=warps(width))


def rotary(qkv, turns, positions, heads):
    rotary_kernel[(qkv.shape[0],)](qkv, turns, positions, qkv.shape[1], heads, triton.next_power_of_2(heads), 64,
                                   num_warps=4)


def kv_write(qkv, slots, keys, values, q_width, kv_width):
    kv_write_kernel[(qkv.shape[0],)](qkv, slots, keys, values, qkv.shape[1], q_width, kv_width,
                                     triton.next_power_of_2(kv_width), num_warps=4)


def activation(gate_up, y):
    block = min(2048, triton.next_power_of_2(y.shape[1]))
    activation_kernel[(y.shape[0], triton.cdiv(y.shape[1], block))](gate_up, y, y.shape[1], block, num_warps=4)


def narrow(x, y, scale):
    narrow_kernel[(triton.cdiv(x.numel(), 2048),)](x, y, scale, x.numel(), 2048, num_warps=4)


class Decode:
    """Attention of decoding sequences: q [b, q_heads, 128], rows apart or not, k and v [b, context, kv_heads, 128]."""

    DIM, BLOCK = 128, 64

    def __init__(self, sequences, context, q_heads, kv_heads, multiprocessors):
        units = sequences * kv_heads
        parts = max(1, min(64, 4 * multiprocessors // units, triton.cdiv(context, 2 * self.BLOCK)))
        blocks = triton.cdiv(triton.cdiv(context, self.BLOCK), parts)
        self.parts, self.part_tokens = triton.cdiv(context, blocks * self.BLOCK), blocks * self.BLOCK
        self.shape = (sequences, context, q_heads, kv_heads)
        self.part = torch.empty(sequences * q_heads * self.parts * self.DIM, dtype=torch.float32, device="cuda")
        self.weight = torch.empty(sequences * q_heads * self.parts, dtype=torch.float32, device="cuda")

    def __call__(self, q, k, v, y):
        sequences, context, q_heads, kv_heads = self.shape
        group = q_heads // kv_heads
        decode_kernel[(sequences, kv_heads, self.parts)](
            q, k, v, y, self.part, self.weight, context, self.part_tokens, 1.4426950408889634 * self.DIM ** -0.5,
            q.stride(0), kv_heads, group, max(16, triton.next_power_of_2(group)), self.DIM, self.BLOCK, self.parts > 1,
            num_warps=4, num_stages=3)
        if self.parts > 1:
            join_kernel[(sequences * q_heads,)](self.part, self.weight, y, self.parts,
                                                triton.next_power_of_2(self.parts), self.DIM, num_warps=4)
