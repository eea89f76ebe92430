"""Matrix products of LLMs' layers and heads, whole and split over 2, 4 and 8 GPUs: bf16 through cuBLAS, and fp8 with
activations narrowed from bf16 in front. Weights come from memory, activations as the kernel before left them."""
import torch

import common
import kernels

# name, hidden, ffn, q_heads, kv_heads, vocab; heads of 128
LLMS = (("llama-3.1-8b", 4096, 14336, 32, 8, 128256), ("llama-2-7b", 4096, 11008, 32, 32, 32000),
        ("llama-3.1-70b", 8192, 28672, 64, 8, 128256), ("qwen3-32b", 5120, 25600, 64, 8, 151936),
        ("llama-2-70b", 8192, 28672, 64, 8, 32000))

TOKENS = tuple(m for m in common.TOKENS if m not in (224, 1536, 3072, 6144))


def shapes():
    """{(n, k): operator}; of alike ones the first."""
    found = {}
    for name, hidden, ffn, q_heads, kv_heads, vocab in LLMS:
        for gpus in (1, 2, 4, 8):
            q_width, kv_width = q_heads * 128 // gpus, kv_heads * 128 // gpus
            found.setdefault((q_width + 2 * kv_width, hidden), "qkv")
            found.setdefault((hidden, q_width), "out")
            found.setdefault((2 * ffn // gpus, hidden), "up")
            found.setdefault((hidden, ffn // gpus), "down")
            found.setdefault((vocab // gpus, hidden), "head")
    return found


def guess_s(m, n, k, bytes_each, flop_per_s):
    return 2e-6 + max(bytes_each * n * k + 2 * m * (n + k), 0) / 4e12 + 2.0 * m * n * k / flop_per_s


def measure_bf16(run, pool, m, n, k, **how):
    x, y = run.x[:m * k].view(m, k), run.y[:m * n].view(m, n)
    weights = common.views(pool, (n, k))
    launch = lambda i: torch.mm(x, weights[i % len(weights)].t(), out=y)
    return common.median_seconds(run, launch, guess_s(m, n, k, 2, 7e14), len(weights), **how)


def measure_fp8(run, pool, m, n, k, **how):
    x, y = run.x[:m * k].view(m, k), run.y[:m * n].view(m, n)
    narrow, one = run.narrow[:m * k].view(m, k), run.one
    weights = common.views(pool, (n, k))

    def launch(i):
        kernels.narrow(x, narrow, one)
        torch._scaled_mm(narrow, weights[i % len(weights)].t(), one, one, out_dtype=common.BF16, use_fast_accum=True,
                         out=y)

    return common.median_seconds(run, launch, guess_s(m, n, k, 1, 1.2e15), len(weights), **how)


def start(run):
    run.x = common.random_bf16(8192 * 28672, 1.0)
    run.y = torch.empty(8192 * 57344, dtype=common.BF16, device="cuda")


def list_points(run, tokens, shapes):
    """(shape, operator, rows) by rows, so that no small product finds the clock that large ones left."""
    points = [(nk, op, m) for nk, op in common.spread(shapes) for m in tokens if op != "head" or m <= 512]
    return run.shorten(sorted(points, key=lambda point: point[2]))


def measure_all(run, kernel, name, measure, pool, points, source, is_settled):
    """Settled: at the clock that the product can hold. Else at the boost clock, of a GPU that paused before."""
    rows = common.kernel_rows(run, "isolated" if is_settled else "boost")
    for (n, k), op, m in points:
        if run.late():
            break
        how = {"settle_s": 0.09} if is_settled and m >= 48 else {"pause_s": 0.04} if m >= 48 else {}
        seconds = common.attempt(f"{kernel} {m} {n} {k}", lambda: measure(run, pool, m, n, k, **how))
        if seconds is not None:
            rows.add(kernel=kernel, operator=op, set="" if is_settled else "boost", group=f"n{n} k{k}", m=m, n=n, k=k,
                     weights=name, compute=name, time_us=seconds * 1e6, source=f"{source}; SM {run.mhz:g} MHz")
    print(f"{kernel}: {rows.count} of {len(points)} points", flush=True)


def bf16(run, is_settled=True):
    start(run)
    check_bf16(run)
    pool = common.random_bf16(3 << 30, 0.02)
    points = list_points(run, TOKENS, shapes().items())
    measure_all(run, "gemm", "bf16", measure_bf16, pool, points, "cuBLAS", is_settled)


def bf16_boost(run):
    bf16(run, False)


def check_bf16(run):
    x, weight = run.x[:64 * 4096].view(64, 4096), run.x[64 * 4096:128 * 4096].view(64, 4096)
    exact = x.double() @ weight.double().t()
    print(f"bf16 product: error {float(((x @ weight.t()).double() - exact).norm() / exact.norm()):.1e}", flush=True)


def fp8(run):
    start(run)
    run.narrow = torch.empty(8192 * 28672, dtype=common.FP8, device="cuda")
    run.one = torch.ones((), dtype=torch.float32, device="cuda")
    shapes_fp8 = [(nk, op) for nk, op in shapes().items() if op != "head" and nk[0] % 16 == 0 and nk[1] % 16 == 0]
    tokens = (1, 4, 16, 32, 64, 96, 128, 192, 256, 512, 1024, 4096)
    measure_all(run, "gemm_fp8", "fp8", measure_fp8, common.random_fp8(2 << 30), list_points(run, tokens, shapes_fp8),
                "narrowing in Triton and cuBLAS", True)
