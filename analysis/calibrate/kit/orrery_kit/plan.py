"""What is measured: the parts in their order, and the points of each. Pure functions of the facts about the machine.

A point is a dict of the columns of a row that are known before the measurement. Columns, units and meanings are those
that Orrery reads: numbers of tokens and of heads, bytes, microseconds. Facts are the dict of manifest.py."""
import random

BF16_CAPABILITY, FP8_CAPABILITY, NVFP4_CAPABILITY = 8.0, 8.9, 10.0
HEAD_DIM = 128

KERNEL_COLUMNS = ("kernel", "operator", "set", "group", "m", "n", "k", "weights", "compute", "sequences", "tokens",
                  "past", "context", "q_heads", "kv_heads", "key_dim", "kv", "width", "bytes", "gpus", "time_us",
                  "source")
COPY_COLUMNS = ("copy", "host", "bytes", "beside", "seconds", "bytes_per_s", "beside_slowdown", "copy_slowdown",
                "method")
ITERATION_COLUMNS = ("phase", "sequences", "tokens", "past", "context", "time_us", "boost_time_us", "runs", "spread",
                     "sm_mhz", "boost_sm_mhz", "source")
POWER_COLUMNS = ("load", "sequences", "tokens", "context", "held_s", "launch_s", "busy_frac", "energy_w", "average_w",
                 "instant_w", "instant_max_w", "sm_mhz", "memory_mhz", "celsius", "flop_per_s", "bytes_per_s")
STEP_COLUMNS = ("load", "t_s", "launch_us", "average_w", "instant_w", "sm_mhz")
REQUEST_COLUMNS = ("id", "arrival_s", "prompt_tokens", "output_tokens", "ttft_s", "tpot_s", "e2e_s")


def spread(items, seed=7):
    """A fixed order at random, so that a part cut short has measured everywhere."""
    items = list(items)
    random.Random(seed).shuffle(items)
    return items


# --- Products ---

TOKENS = (1, 2, 4, 8, 16, 24, 32, 48, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384, 512, 768, 1024, 1536, 2048,
          3072, 4096, 6144, 8192)
BF16_TOKENS = tuple(m for m in TOKENS if m not in (224, 1536, 3072, 6144))
FP8_TOKENS = (1, 4, 16, 32, 64, 96, 128, 192, 256, 512, 1024, 4096)

# name, hidden, ffn, q_heads, kv_heads, vocab; heads of 128
LLMS = (("llama-3.1-8b", 4096, 14336, 32, 8, 128256), ("llama-2-7b", 4096, 11008, 32, 32, 32000),
        ("llama-3.1-70b", 8192, 28672, 64, 8, 128256), ("qwen3-32b", 5120, 25600, 64, 8, 151936),
        ("llama-2-70b", 8192, 28672, 64, 8, 32000))


def product_shapes():
    """{(n, k): operator} of layers and heads, whole and split over 2, 4 and 8 GPUs; of alike ones the first."""
    found = {}
    for _, hidden, ffn, q_heads, kv_heads, vocab in LLMS:
        for gpus in (1, 2, 4, 8):
            q_width, kv_width = q_heads * HEAD_DIM // gpus, kv_heads * HEAD_DIM // gpus
            found.setdefault((q_width + 2 * kv_width, hidden), "qkv")
            found.setdefault((hidden, q_width), "out")
            found.setdefault((2 * ffn // gpus, hidden), "up")
            found.setdefault((hidden, ffn // gpus), "down")
            found.setdefault((vocab // gpus, hidden), "head")
    return found


def product_points(kernel, number_format, tokens, shapes, set_name=""):
    """By rows, so that no small product meets the clock that large ones left."""
    points = [{"kernel": kernel, "operator": op, "set": set_name, "group": f"n{n} k{k}", "m": m, "n": n, "k": k,
               "weights": number_format, "compute": number_format}
              for (n, k), op in spread(shapes) for m in tokens if op != "head" or m <= 512]
    return sorted(points, key=lambda point: point["m"])


def bf16_points(facts):
    return product_points("gemm", "bf16", BF16_TOKENS, product_shapes().items(), "isolated")


def bf16_boost_points(facts):
    return product_points("gemm", "bf16", BF16_TOKENS, product_shapes().items(), "boost")


def narrow_shapes(multiple):
    return [(nk, op) for nk, op in product_shapes().items()
            if op != "head" and nk[0] % multiple == 0 and nk[1] % multiple == 0]


def fp8_points(facts):
    return product_points("gemm_fp8", "fp8", FP8_TOKENS, narrow_shapes(16), "isolated")


def nvfp4_points(facts):
    return product_points("gemm_nvfp4", "nvfp4", FP8_TOKENS, narrow_shapes(32), "isolated")


# --- Attention ---

PAIRS = ((32, 32), (32, 8), (64, 8), (16, 16), (8, 8), (4, 4), (16, 4), (8, 2), (4, 1), (32, 4), (16, 2), (8, 1))


def attention_point(kernel, set_name, pair, sequences, **shape):
    return {"kernel": kernel, "set": set_name, "group": f"{pair[0]}/{pair[1]} heads", "sequences": sequences, **shape,
            "q_heads": pair[0], "kv_heads": pair[1], "key_dim": HEAD_DIM, "kv": "bf16", "compute": "bf16"}


def prefill_points(set_name):
    """tokens and past are sums over the sequences, as Orrery reads them."""
    lone = [(1, n, 0) for n in (64, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192, 16384)]
    many = [(b, n, 0) for b in (2, 4, 8, 16, 32) for n in (128, 256, 512, 1024, 2048, 4096) if b * n <= 32768]
    chunks = [(1, n, past) for n in (64, 128, 256, 512, 1024, 2048, 4096) for past in (512, 2048, 8192, 32768)]
    if set_name == "isolated":  # cuDNN's causal mask begins at the first key
        chunks = []
    return spread(attention_point("prefill_attention", set_name, pair, b, tokens=b * n, past=b * past)
                  for pair in PAIRS for b, n, past in lone + many + chunks)


BATCHES = (1, 2, 4, 8, 16, 32, 64, 128, 256)
CONTEXTS = (128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768)


def decode_pool_numbers(facts):
    """Of the pool that sequences' keys and values come from: 16 GiB, or half of the memory."""
    return min(8 << 30, int(facts["memory_bytes"]) // 4)


def decode_points(facts, set_name):
    pool = decode_pool_numbers(facts)
    return spread(attention_point("decode_attention", set_name, pair, b, context=n)
                  for pair in PAIRS for b in BATCHES for n in CONTEXTS
                  if 4 * b * n * pair[1] * HEAD_DIM + b * pair[0] * HEAD_DIM < pool)


# --- Element-wise operators ---

HIDDEN = (4096, 5120, 8192)
FFN = tuple(sorted({ffn // gpus for ffn in (11008, 14336, 25600, 28672) for gpus in (1, 2, 4, 8)}))


def elementwise_widths():
    """(operator, size, width): numbers that an operator reads and writes per token."""
    found = [(name, size, factor * size) for name, factor in (("norm", 2), ("residual", 3), ("embedding", 2))
             for size in HIDDEN]
    found += [("activation", size, 3 * size) for size in FFN]
    found += [("rotary", pair, 2 * sum(pair) * HEAD_DIM) for pair in PAIRS]
    return found + [("kv_write", pair, 4 * pair[1] * HEAD_DIM) for pair in PAIRS]


def elementwise_points(facts):
    points = spread((name, size, width, m) for name, size, width in elementwise_widths() for m in TOKENS)
    return [{"kernel": name, "group": f"{name} {width}", "tokens": m, "width": width, "_size": size}
            for name, size, width, m in points]


# --- Collectives ---

COLLECTIVES = ("all_reduce", "all_gather", "reduce_scatter", "all_to_all", "send")
COLLECTIVE_BYTES = tuple(1 << power for power in range(10, 31))


def collective_points(facts):
    """bytes as Orrery reads them: what a GPU ends up with (all_reduce, all_gather), starts from (reduce_scatter,
    all_to_all) or sends (send). Sorted by GPUs, which are one group of processes each."""
    counts = [n for n in (2, 4, 8) if n <= facts["gpus"]]
    return [{"kernel": op, "group": f"{size} bytes", "bytes": size, "gpus": gpus}
            for gpus in counts for op, size in spread((op, size) for op in COLLECTIVES for size in COLLECTIVE_BYTES)
            if op != "send" or gpus == 2]


# --- Copies ---

COPY_SIZES = tuple(1 << power for power in range(12, 31))
MIB = 1 << 20


def copy_points(facts):
    pairs = (("h2d", "pinned"), ("d2h", "pinned"), ("h2d", "pageable"), ("d2h", "pageable"), ("d2d", ""))
    points = [{"copy": copy, "host": host, "bytes": size} for copy, host in pairs for size in COPY_SIZES]
    if facts["gpus"] > 1:
        points += [{"copy": "p2p", "host": "", "bytes": size} for size in COPY_SIZES]
    points += [{"_both": size} for size in (MIB, 4 * MIB, 16 * MIB, 64 * MIB)]
    return points + [{"_beside": load, "_copies": copies, "_bytes": size}
                     for load in ("gemm of 8192 rows", "gemm of 16 rows", "decode attention", "copy on the GPU")
                     for copies, size in ((("h2d",), 64 * MIB), (("d2h",), 64 * MIB), (("h2d", "d2h"), 64 * MIB),
                                          (("h2d",), MIB))]


# --- Whole iterations ---

ITERATION_BATCHES = (1, 2, 4, 8, 16, 24, 32, 48, 64, 96, 128, 160, 192, 256)
ITERATION_CONTEXTS = (128, 512, 1024, 2048, 4096, 8192, 16384, 32768)
PROMPTS = (128, 192, 256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192)
MANY = ((2, 512), (4, 512), (8, 512), (16, 512), (4, 128), (16, 128), (32, 128), (2, 2048), (4, 2048))
CHUNKS = tuple((1, n, past) for n in (256, 512, 2048) for past in (2048, 8192, 30720))
MODEL_BYTES, TOKEN_BYTES, WORK_BYTES = 16.1e9, 131072, 1.5e9  # weights, keys and values of a token, all else
LEAST_CACHE_TOKENS = 20_000


def cache_tokens(facts, most=600_000):
    """Tokens that the cache of the model has: what 90 % of the memory leave beside weights and work space."""
    return max(0, min(most, int((0.9 * facts["memory_bytes"] - MODEL_BYTES - WORK_BYTES) / TOKEN_BYTES)))


def iteration_points(facts):
    room = cache_tokens(facts)
    decode = [{"phase": "decode", "sequences": b, "tokens": b, "past": 0, "context": n, "_kernel": "own"}
              for b in ITERATION_BATCHES for n in ITERATION_CONTEXTS if b * n <= room]
    shapes = [(1, n, 0) for n in PROMPTS] + [(b, n, 0) for b, n in MANY] + list(CHUNKS)
    prefill = [{"phase": "prefill", "sequences": b, "tokens": b * n, "past": past, "context": 0, "_kernel": kernel}
               for kernel in ("cudnn", "flash2") for b, n, past in shapes
               if b * n + past <= room and (past == 0 or kernel == "flash2")]
    return spread(decode + prefill)


# --- Power ---

def power_points(facts):
    """Loads; those of products and of memory first, since they are few and span the range."""
    room = cache_tokens(facts, 300_000)
    loads = [{"load": "idle with context"}, {"load": "gemm bf16", "tokens": 8192}]
    if facts["capability"] >= FP8_CAPABILITY:
        loads.append({"load": "gemm fp8", "tokens": 8192})
    loads += [{"load": load} for load in ("memory copy", "memory copy by a kernel", "memory read",
                                          "host to device copy")]
    loads.append({"load": "gemm bf16 of zeros", "tokens": 8192})
    loads += [{"load": "decode", "sequences": b, "tokens": b, "context": n}
              for b, n in ((1, 1024), (32, 1024), (8, 1024), (128, 1024), (64, 1024), (256, 1024), (32, 8192),
                           (128, 2048), (1, 16384)) if b * n <= room]
    loads += [{"load": "prefill", "sequences": 1, "tokens": n, "context": n} for n in (2048, 512, 8192, 256)]
    if 8 * 1024 <= room:
        loads.append({"load": "decode, half the time", "sequences": 8, "tokens": 8, "context": 1024})
    return loads + [{"load": "idle after load"}]


def step_points(facts):
    return [{"load": load} for load in ("gemm bf16", "prefill of 2048", "decode of 32")]


# --- A serving engine ---

def request_points(facts):
    """Requests of one run: lengths and arrivals drawn once. The rate is one that a GPU of 1 TB/s can serve."""
    draw = random.Random(11)
    points, arrival_s = [], 0.0
    for i in range(200):
        points.append({"id": i, "arrival_s": round(arrival_s, 6), "prompt_tokens": draw.randint(64, 2048),
                       "output_tokens": draw.randint(32, 256)})
        arrival_s += draw.expovariate(3.0)
    return points


# --- The parts ---

def needs_capability(least, what):
    def problem(facts):
        if facts["capability"] >= least:
            return None
        return f"{what} needs compute capability {least:g}, this GPU has {facts['capability']:g}"
    return problem


def needs_nothing(facts):
    return None


def needs_vllm_fp4(facts):
    if not facts.get("vllm"):
        return "vLLM is not installed, whose kernels narrow activations to nvfp4"
    return needs_capability(NVFP4_CAPABILITY, "nvfp4")(facts)


def needs_gpus(facts):
    return None if facts["gpus"] > 1 else "one GPU: there is nothing to communicate with"


def needs_nvml(facts):
    return None if facts.get("power_sensor") else "NVML reports no power; is the package nvidia-ml-py installed?"


def needs_model(facts):
    reason = needs_capability(BF16_CAPABILITY, "bf16")(facts)
    if reason is None and cache_tokens(facts) < LEAST_CACHE_TOKENS:
        reason = f"the model and its cache need 23 GB of memory, this GPU has {facts['memory_bytes'] / 1e9:.0f} GB"
    return reason


def needs_model_power(facts):
    return needs_nvml(facts) or needs_model(facts)


def needs_vllm(facts):
    return needs_model(facts) if facts.get("vllm") else "vLLM is not installed"


class Part:
    """`file` gets rows of `columns`; `seconds`: the longest time of one call; needs(facts): why not, or None;
    points(facts): what is measured, in order."""

    def __init__(self, name, seconds, file, columns, needs, points, what):
        self.name, self.seconds, self.file, self.columns = name, seconds, file, columns
        self.needs, self.points, self.what = needs, points, what


def kernels(name, seconds, file, needs, points, what):
    return Part(name, seconds, f"kernels-{file}.csv", KERNEL_COLUMNS, needs, points, what)


BF16 = needs_capability(BF16_CAPABILITY, "bf16")
PARTS = (
    Part("idle", 6, "power.csv", POWER_COLUMNS, needs_nvml, lambda facts: [{"load": "idle without context"}],
         "power of a GPU without a process"),
    kernels("bf16", 230, "isolated", BF16, bf16_points, "products in bf16"),
    kernels("prefill-cudnn", 110, "isolated", BF16, lambda facts: prefill_points("isolated"), "attention of prompts"),
    kernels("decode", 60, "isolated", BF16, lambda facts: decode_points(facts, "isolated"),
            "attention of decoding sequences"),
    kernels("elementwise", 60, "isolated", BF16, elementwise_points, "norm, rotary embedding, activation, and others"),
    kernels("fp8", 110, "isolated", needs_capability(FP8_CAPABILITY, "fp8"), fp8_points, "products in fp8"),
    kernels("nvfp4", 60, "isolated", needs_vllm_fp4, nvfp4_points, "products in nvfp4"),
    kernels("collectives", 90, "collectives", needs_gpus, collective_points, "NCCL among the GPUs of this machine"),
    Part("copies", 60, "copies.csv", COPY_COLUMNS, needs_nothing, copy_points, "copies between host and GPUs"),
    Part("power", 150, "power.csv", POWER_COLUMNS, needs_model_power, power_points, "board power under held loads"),
    Part("iterations", 120, "iterations.csv", ITERATION_COLUMNS, needs_model, iteration_points,
         "whole iterations of a model, which test the fits"),
    Part("vllm", 240, "vllm-requests.csv", REQUEST_COLUMNS, needs_vllm, request_points,
         "requests to vLLM, which test all"),
    kernels("prefill-flash2", 60, "flash-attention-2", BF16, lambda facts: prefill_points("flash-attention-2"),
            "attention of prompts by FlashAttention-2"),
    kernels("decode-flash2", 20, "flash-attention-2", BF16, lambda facts: decode_points(facts, "flash-attention-2"),
            "the same of decoding sequences"),
    kernels("decode-cudnn", 20, "cudnn", BF16, lambda facts: decode_points(facts, "cudnn"), "the same by cuDNN"),
    kernels("bf16-boost", 60, "boost", BF16, bf16_boost_points, "products at the boost clock"),
    Part("power-steps", 30, "power-steps.csv", STEP_COLUMNS, needs_model_power, step_points,
         "how loads begin and end"),
)


def shorten(points):
    """The first and the last few: does the part run here?"""
    return points if len(points) <= 4 else points[:2] + points[-2:]


def key(point):
    """A text that no other point of the part has."""
    return " ".join(f"{name}={value}" for name, value in sorted(point.items()))
