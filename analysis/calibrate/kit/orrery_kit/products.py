"""Matrix products: bf16 through cuBLAS, fp8 and nvfp4 with activations narrowed from bf16 in front. Weights come from
memory, activations as the kernel before left them. Products are first checked against float64."""
import torch

from . import kernels, timing
from .runner import Skip

MAX_ROWS, MAX_K, MAX_N = 8192, 28672, 57344
SETTLE_ROWS = 48  # smaller products are limited by memory, whose clock is fixed


def guess_s(m, n, k, bytes_each, flop_per_s):
    return 2e-6 + max(bytes_each * n * k + 2 * m * (n + k), 0) / 4e12 + 2.0 * m * n * k / flop_per_s


def relative_error(found, exact):
    return float((found.double() - exact).norm() / exact.norm())


def demand(what, error, most):
    print(f"{what}: error {error:.1e}", flush=True)
    if not error < most:
        raise Skip(f"{what} is wrong: its error against float64 is {error:.1e}")


class Products:
    """Activations and results; a subclass has the weights and the launch."""

    FLOP_PER_S, NUMBER_BYTES, SOURCE = 7e14, 2, "cuBLAS"

    def __init__(self, run, is_settled=True):
        self.run, self.is_settled = run, is_settled
        self.x = timing.random_bf16(MAX_ROWS * MAX_K, 1.0)
        self.y = torch.empty(MAX_ROWS * MAX_N, dtype=timing.BF16, device="cuda")

    def measure(self, point):
        m, n, k = point["m"], point["n"], point["k"]
        launch, buffers = self.prepare(m, n, k)
        how = {}
        if m >= SETTLE_ROWS:  # at the clock that the product can hold; else at the boost clock, after a pause
            how = {"settle_s": 0.09} if self.is_settled else {"pause_s": 0.04}
        seconds = timing.median_seconds(self.run, launch, guess_s(m, n, k, self.NUMBER_BYTES, self.FLOP_PER_S), buffers,
                                        **how)
        return timing.timed(self.run, seconds, self.SOURCE)


class Bf16(Products):
    def __init__(self, run, is_settled):
        super().__init__(run, is_settled)
        x, weight = self.x[:64 * 4096].view(64, 4096), self.x[64 * 4096:128 * 4096].view(64, 4096)
        demand("bf16 product", relative_error(x @ weight.t(), x.double() @ weight.double().t()), 1e-2)
        self.pool = timing.random_bf16(3 << 30, 0.02)

    def prepare(self, m, n, k):
        x, y = self.x[:m * k].view(m, k), self.y[:m * n].view(m, n)
        weights = timing.views(self.pool, (n, k))
        return lambda i: torch.mm(x, weights[i % len(weights)].t(), out=y), len(weights)


class Fp8(Products):
    FLOP_PER_S, NUMBER_BYTES, SOURCE = 1.2e15, 1, "narrowing in Triton and cuBLAS"

    def __init__(self, run):
        super().__init__(run)
        self.narrow = torch.empty(MAX_ROWS * MAX_K, dtype=timing.FP8, device="cuda")
        self.one = torch.ones((), dtype=torch.float32, device="cuda")
        self.pool = timing.random_fp8(2 << 30)
        launch, _ = self.prepare(64, 4096, 4096)
        launch(0)
        x, weight = self.x[:64 * 4096].view(64, 4096), timing.views(self.pool, (4096, 4096))[0]
        demand("fp8 product", relative_error(self.y[:64 * 4096].view(64, 4096), x.double() @ weight.double().t()), 0.1)

    def prepare(self, m, n, k):
        x, y = self.x[:m * k].view(m, k), self.y[:m * n].view(m, n)
        narrow, one = self.narrow[:m * k].view(m, k), self.one
        weights = timing.views(self.pool, (n, k))

        def launch(i):
            kernels.narrow(x, narrow, one)
            torch._scaled_mm(narrow, weights[i % len(weights)].t(), one, one, out_dtype=timing.BF16,
                             use_fast_accum=True, out=y)
        return launch, len(weights)


class Nvfp4(Products):
    """vLLM's kernels: a scale in fp8 for every 16 numbers."""

    FLOP_PER_S, NUMBER_BYTES, SOURCE = 2e15, 0.5, "vLLM: scaled_fp4_quant and cutlass_scaled_fp4_mm"
    MAX_WEIGHTS = 8

    def __init__(self, run):
        super().__init__(run)
        try:
            from vllm import _custom_ops
        except Exception as error:
            raise Skip(f"vLLM has no kernels here: {type(error).__name__}: {error}") from None
        self.ops = _custom_ops
        self.one = torch.ones(1, dtype=torch.float32, device="cuda")
        launch, _ = self.prepare(64, 4096, 4096)
        x, weight = self.x[:64 * 4096].view(64, 4096), self.weight_of(0, 4096, 4096)
        demand("nvfp4 product", relative_error(launch(0), x.double() @ weight.double().t()), 0.3)

    def weight_of(self, i, n, k):
        first = i * 4096 % (self.x.numel() - n * k + 1)
        return self.x[first:first + n * k].view(n, k)

    def prepare(self, m, n, k):
        x = self.x[:m * k].view(m, k)
        count = max(2, min(self.MAX_WEIGHTS, timing.COLD_BYTES // (n * k // 2)))
        weights = [self.ops.scaled_fp4_quant(self.weight_of(i, n, k), self.one) for i in range(count)]

        def launch(i):
            weight, scales = weights[i % count]
            narrow, own = self.ops.scaled_fp4_quant(x, self.one)
            return self.ops.cutlass_scaled_fp4_mm(narrow, weight, own, scales, self.one, timing.BF16)
        return launch, count
