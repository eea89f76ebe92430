"""Attention over a KV cache: prompts, on top of earlier tokens too, and decoding sequences. Three kernels: cuDNN's and
FlashAttention-2 as PyTorch has them, and our own for decoding, which cuts sequences into parts."""
import torch

import common
import kernels

PAIRS = ((32, 32), (32, 8), (64, 8), (16, 16), (8, 8), (4, 4), (16, 4), (8, 2), (4, 1), (32, 4), (16, 2), (8, 1))
DIM = 128


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
    for flat in common.views(pool, (n_q + 2 * n_kv,), most=most):
        q, k, v = flat.split((n_q, n_kv, n_kv))
        sets.append((heads_first(q, sequences, tokens), heads_first(k, sequences, past + tokens),
                     heads_first(v, sequences, past + tokens)))
    return sets


# --- prompts ---

def prefill_points():
    lone = [(1, n, 0) for n in (64, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192, 16384)]
    many = [(b, n, 0) for b in (2, 4, 8, 16, 32) for n in (128, 256, 512, 1024, 2048, 4096) if b * n <= 32768]
    chunks = [(1, n, past) for n in (64, 128, 256, 512, 1024, 2048, 4096) for past in (512, 2048, 8192, 32768)]
    return [(pair, point) for pair in PAIRS for point in lone + many + chunks]


def prefill_flop(sequences, tokens, past, q_heads):
    return 2.0 * q_heads * DIM * sequences * tokens * (tokens + 2 * past)


def measure_prefill(run, pool, attend, pair, point):
    sequences, tokens, past = point
    sets = inputs(pool, sequences, tokens, past, *pair)
    guess_s = 6e-6 + prefill_flop(sequences, tokens, past, pair[0]) / 4e14
    launch = lambda i: attend(*sets[i % len(sets)], True)
    settle_s = 0.08 if guess_s > 1e-5 else 0.0
    return common.median_seconds(run, launch, guess_s, len(sets), settle_s=settle_s)


def prefill_error(pool, attend, past):
    q, k, v = inputs(pool, 2, 256, past, 8, 2)[0]
    return difference(attend(q, k, v, True)[:, :, [0, -1]], exact(q, k, v, past))


def prefill(run, name, attend, source):
    pool = common.random_bf16(1 << 30, 1.0)
    errors = [common.attempt(f"{source}, past {past}", prefill_error, pool, attend, past) for past in (0, 512)]
    print(f"{source}, prefill: errors {errors}, without and with earlier tokens", flush=True)
    is_right = [error is not None and error < 1e-2 for error in errors]
    points = [point for point in common.spread(prefill_points()) if is_right[point[1][2] > 0]]
    rows = common.kernel_rows(run, name)
    for pair, (sequences, tokens, past) in run.shorten(points):
        if run.late():
            break
        what, point = f"{source} {pair} {sequences} {tokens} {past}", (sequences, tokens, past)
        seconds = common.attempt(what, measure_prefill, run, pool, attend, pair, point)
        if rows.count % 50 == 49:
            torch.cuda.empty_cache()
        if seconds is not None:
            rows.add(kernel="prefill_attention", set=name, group=f"{pair[0]}/{pair[1]} heads", sequences=sequences,
                     tokens=sequences * tokens, past=sequences * past, q_heads=pair[0], kv_heads=pair[1], key_dim=DIM,
                     kv="bf16", compute="bf16", time_us=seconds * 1e6, source=f"{source}; SM {run.mhz:g} MHz")
    print(f"{source}, prefill: {rows.count} of {len(points)} points", flush=True)


def prefill_cudnn(run):
    prefill(run, "isolated", cudnn, "cuDNN")


def prefill_flash2(run):
    prefill(run, "flash-attention-2", flash2, "FlashAttention-2")


# --- decoding sequences ---

BATCHES = (1, 2, 4, 8, 16, 32, 64, 128, 256)
CONTEXTS = (128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768)
POOL_NUMBERS = 8 << 30


def decode_points(run):
    points = [(pair, b, n) for pair in PAIRS for b in BATCHES for n in CONTEXTS
              if 4 * b * n * pair[1] * DIM + b * pair[0] * DIM < POOL_NUMBERS]
    return run.shorten(common.spread(points))


def own(sequences, context, pair):
    attend = kernels.Decode(sequences, context, *pair, torch.cuda.get_device_properties(0).multi_processor_count)
    y = torch.empty(sequences, pair[0], DIM, dtype=common.BF16, device="cuda")

    def launch(q, k, v, causal):
        attend(q[:, :, 0], k, v, y)
        return y.view(sequences, pair[0], 1, DIM)
    return launch


def measure_decode(run, pool, attend, pair, sequences, context):
    sets = inputs(pool, sequences, 1, context - 1, *pair, 256)
    guess_s = 6e-6 + 4.0 * sequences * context * pair[1] * DIM / 3.5e12
    return common.median_seconds(run, lambda i: attend(*sets[i % len(sets)], False), guess_s, len(sets), 0.008)


def decode_error(pool, choose, sequences, context, pair):
    q, k, v = inputs(pool, sequences, 1, context - 1, *pair)[0]
    return difference(choose(sequences, context, pair)(q, k, v, False), exact(q, k, v, context - 1)[:, :, 1:])


def decode(run, name, choose, source):
    """choose(sequences, context, heads) makes the kernel."""
    pool = common.random_bf16(POOL_NUMBERS, 1.0)
    errors = [common.attempt(f"{source} {case}", decode_error, pool, choose, *case)
              for case in ((3, 1000, (32, 8)), (40, 513, (8, 8)), (1, 5000, (64, 8)))]
    print(f"{source}, decode: errors {errors}", flush=True)
    if any(error is None or not error < 1e-2 for error in errors):
        return
    rows, points = common.kernel_rows(run, name), decode_points(run)
    for pair, sequences, context in points:
        if run.late():
            break
        what = f"{source} {pair} {sequences} {context}"
        attend = common.attempt(what, choose, sequences, context, pair)
        seconds = attend and common.attempt(what, measure_decode, run, pool, attend, pair, sequences, context)
        if seconds:
            rows.add(kernel="decode_attention", set=name, group=f"{pair[0]}/{pair[1]} heads", sequences=sequences,
                     context=context, q_heads=pair[0], kv_heads=pair[1], key_dim=DIM, kv="bf16", compute="bf16",
                     time_us=seconds * 1e6, source=f"{source}; SM {run.mhz:g} MHz")
    print(f"{source}, decode: {rows.count} of {len(points)} points", flush=True)


def decode_own(run):
    decode(run, "isolated", own, "own split-KV decode in Triton")


def decode_cudnn(run):
    decode(run, "cudnn", lambda *_: cudnn, "cuDNN")


def decode_flash2(run):
    decode(run, "flash-attention-2", lambda *_: flash2, "FlashAttention-2")
