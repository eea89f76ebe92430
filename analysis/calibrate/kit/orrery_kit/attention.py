"""Attention over a KV cache: prompts, on top of earlier tokens too, and decoding sequences. Three kernels: cuDNN's and
FlashAttention-2 as PyTorch has them, and our own for decoding, which cuts sequences into parts. Each is first checked
against float64."""
import torch

from . import kernels, plan, timing
from .runner import Skip

DIM = plan.HEAD_DIM


def cudnn(q, k, v, causal):
    return torch.ops.aten._scaled_dot_product_cudnn_attention(q, k, v, None, False, 0.0, causal, False)[0]


def flash2(q, k, v, causal):
    """Its causal mask ends at the last key, as prompts on top of earlier tokens want it."""
    return torch.ops.aten._scaled_dot_product_flash_attention(q, k, v, 0.0, causal, False)[0]


def exact(q, k, v, past):
    """Of the last query of each sequence and of the first, in float64."""
    group = q.shape[1] // k.shape[1]
    keys, values = (x.double().repeat_interleave(group, 1) for x in (k, v))
    rows = []
    for at, seen in ((0, past + 1), (q.shape[2] - 1, past + q.shape[2])):
        score = torch.einsum("bhd,bhsd->bhs", q[:, :, at].double(), keys[:, :, :seen]) * DIM ** -0.5
        rows.append(torch.einsum("bhs,bhsd->bhd", score.softmax(-1), values[:, :, :seen]))
    return torch.stack(rows, 2)


def difference(found, wanted):
    return float((found.double() - wanted).norm() / wanted.norm())


def heads_first(x, sequences, tokens):
    """[tokens of all sequences, heads, 128], as a cache has it, for PyTorch's [sequences, heads, tokens, 128]."""
    return x.view(sequences, tokens, -1, DIM).transpose(1, 2)


def inputs(pool, sequences, tokens, past, q_heads, kv_heads, most=16):
    """Sets of queries, keys and values to go through in turn."""
    n_q, n_kv = sequences * tokens * q_heads * DIM, sequences * (past + tokens) * kv_heads * DIM
    sets = []
    for flat in timing.views(pool, (n_q + 2 * n_kv,), most=most):
        q, k, v = flat.split((n_q, n_kv, n_kv))
        sets.append((heads_first(q, sequences, tokens), heads_first(k, sequences, past + tokens),
                     heads_first(v, sequences, past + tokens)))
    return sets


def demand(what, error):
    print(f"{what}: error {error:.1e}", flush=True)
    if not error < 1e-2:
        raise Skip(f"{what} is wrong: its error against float64 is {error:.1e}")


# --- prompts ---

def prefill_flop(sequences, tokens, past, q_heads):
    return 2.0 * q_heads * DIM * sequences * tokens * (tokens + 2 * past)


class Prefill:
    def __init__(self, run, attend, source):
        self.run, self.attend, self.source, self.count = run, attend, source, 0
        self.pool = timing.random_bf16(1 << 30, 1.0)
        for past in (0,) if attend is cudnn else (0, 512):
            q, k, v = inputs(self.pool, 2, 256, past, 8, 2)[0]
            demand(f"{source}, past {past}", difference(attend(q, k, v, True)[:, :, [0, -1]], exact(q, k, v, past)))

    def measure(self, point):
        """tokens and past of the point are sums over its sequences."""
        sequences, heads = point["sequences"], (point["q_heads"], point["kv_heads"])
        tokens, past = point["tokens"] // sequences, point["past"] // sequences
        self.count += 1
        if self.count % 50 == 0:
            torch.cuda.empty_cache()
        sets = inputs(self.pool, sequences, tokens, past, *heads)
        guess_s = 6e-6 + prefill_flop(sequences, tokens, past, heads[0]) / 4e14
        launch = lambda i: self.attend(*sets[i % len(sets)], True)
        settle_s = 0.08 if guess_s > 1e-5 else 0.0
        seconds = timing.median_seconds(self.run, launch, guess_s, len(sets), settle_s=settle_s)
        return timing.timed(self.run, seconds, self.source)


# --- decoding sequences ---

def own(sequences, context, pair):
    attend = kernels.Decode(sequences, context, *pair, torch.cuda.get_device_properties(0).multi_processor_count)
    y = torch.empty(sequences, pair[0], DIM, dtype=timing.BF16, device="cuda")

    def launch(q, k, v, causal):
        attend(q[:, :, 0], k, v, y)
        return y.view(sequences, pair[0], 1, DIM)
    return launch


class Decode:
    """choose(sequences, context, heads) makes the kernel."""

    def __init__(self, run, choose, source):
        self.run, self.choose, self.source = run, choose, source
        self.pool = timing.random_bf16(plan.decode_pool_numbers(run.facts), 1.0)
        for sequences, context, pair in ((3, 1000, (32, 8)), (40, 513, (8, 8)), (1, 5000, (64, 8))):
            q, k, v = inputs(self.pool, sequences, 1, context - 1, *pair)[0]
            demand(f"{source}, {sequences} sequences of {context}",
                   difference(choose(sequences, context, pair)(q, k, v, False), exact(q, k, v, context - 1)[:, :, 1:]))

    def measure(self, point):
        sequences, context, pair = point["sequences"], point["context"], (point["q_heads"], point["kv_heads"])
        attend = self.choose(sequences, context, pair)
        sets = inputs(self.pool, sequences, 1, context - 1, *pair, 256)
        guess_s = 6e-6 + 4.0 * sequences * context * pair[1] * DIM / 3.5e12
        seconds = timing.median_seconds(self.run, lambda i: attend(*sets[i % len(sets)], False), guess_s, len(sets),
                                        0.008)
        return timing.timed(self.run, seconds, self.source)
