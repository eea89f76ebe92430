"""What all measuring modules share: random data, timing by CUDA graphs, clocks and power by NVML."""
import contextlib
import os
import statistics
import time

import torch

try:
    import pynvml
except ImportError:  # clocks and power are then unknown
    pynvml = None

BF16, FP8 = torch.bfloat16, torch.float8_e4m3fn
COLD_BYTES = 256 << 20  # buffers that a kernel goes through in turn: several times an L2


def first_handle():
    """NVML's handle of the GPU that CUDA counts as the first."""
    first = os.environ.get("CUDA_VISIBLE_DEVICES", "0").split(",")[0].strip() or "0"
    if first.startswith(("GPU-", "MIG-")):
        return pynvml.nvmlDeviceGetHandleByUUID(first)
    return pynvml.nvmlDeviceGetHandleByIndex(int(first))


class Device:
    """The GPU's clocks, power and energy by NVML; NaN where that says nothing."""

    def __init__(self):
        self.handle = None
        if pynvml is not None:
            with contextlib.suppress(pynvml.NVMLError, ValueError):
                pynvml.nvmlInit()
                self.handle = first_handle()

    def ask(self, function, *arguments):
        try:
            return getattr(pynvml, function)(self.handle, *arguments)
        except Exception:
            return float("nan")

    def sm_mhz(self):
        return self.ask("nvmlDeviceGetClockInfo", 1)

    def memory_mhz(self):
        return self.ask("nvmlDeviceGetClockInfo", 2)

    def celsius(self):
        return self.ask("nvmlDeviceGetTemperature", 0)

    def joules(self):
        """Since the driver was loaded."""
        return self.ask("nvmlDeviceGetTotalEnergyConsumption") / 1e3

    def average_w(self):
        """NVML's own average, over the last second on Hopper; on older GPUs it may be the power at the time."""
        return self.ask("nvmlDeviceGetPowerUsage") / 1e3

    def instant_w(self):
        """The power at the time; NaN where NVML has no such field."""
        try:
            value = pynvml.nvmlDeviceGetFieldValues(self.handle, [186])[0]  # NVML_FI_DEV_POWER_INSTANT
            return value.value.uiVal / 1e3 if value.nvmlReturn == 0 else float("nan")
        except Exception:
            return float("nan")


class Run:
    """One part's run on the first GPU, on a stream of its own."""

    def __init__(self, facts, is_quick):
        self.facts, self.quick, self.device = facts, is_quick, Device()
        self.stream, self.mhz = torch.cuda.Stream(), float("nan")
        torch.cuda.set_stream(self.stream)
        torch.manual_seed(1)

    def source(self, text):
        """The column of a row: the kernel, and the clock when it was timed."""
        return f"{text}; SM {self.mhz:g} MHz"


def random_bf16(count, scale):
    """A normal distribution; never zeros, with which kernels take less power and time."""
    numbers = torch.empty(count, dtype=BF16, device="cuda")
    for part in numbers.split(1 << 28):
        part.normal_(0.0, scale)
    return numbers


def random_fp8(count):
    numbers = torch.empty(count, dtype=FP8, device="cuda")
    for part in numbers.split(1 << 28):
        part.copy_(torch.empty(part.numel(), dtype=BF16, device="cuda").normal_())
    return numbers


def views(pool, shape, least=2, most=64):
    """Tensors of a shape side by side in a pool, enough of them (up to `most`) that none is in the L2 at its turn."""
    count = 1
    for length in shape:
        count *= length
    stride = -(-count // 128) * 128
    wanted = max(least, min(most, -(-COLD_BYTES // (count * pool.element_size()))))
    n = min(wanted, pool.numel() // stride)
    if n < 1:
        raise ValueError(f"pool too small for {shape}")
    return [pool[i * stride:i * stride + count].view(shape) for i in range(n)]


def capture(launch, n):
    """A CUDA graph of launch(0) .. launch(n - 1)."""
    launch(0)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    graph.capture_begin(capture_error_mode="thread_local")
    try:
        for i in range(n):
            launch(i)
    finally:
        graph.capture_end()
    return graph


def replay_seconds(run, graph, replays):
    """Of each replay, back to back behind a wait that lets the host run ahead."""
    events = [torch.cuda.Event(enable_timing=True) for _ in range(replays + 1)]
    torch.cuda._sleep(2_000_000)
    graph.replay()
    for event in events[:-1]:
        event.record()
        graph.replay()
    events[-1].record()
    run.mhz = run.device.sm_mhz()
    torch.cuda.synchronize()
    return [a.elapsed_time(b) * 1e-3 for a, b in zip(events, events[1:])]


def settle(graph, seconds):
    """Replays a graph for a time, so that the clock is the one that the load can hold."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        for _ in range(3):
            graph.replay()
        torch.cuda.synchronize()


def median_seconds(run, launch, guess_s, buffers=1, budget_s=0.012, settle_s=0.0, pause_s=0.0):
    """Median time of one launch: graphs of enough launches to fill 300 us and go through all buffers, replayed; after
    the same load, or after a pause, for a time."""
    launches = max(buffers, min(64, int(3e-4 / guess_s) + 1))
    replays = max(5, min(25, int(budget_s / (launches * guess_s))))
    graph = capture(launch, launches)
    settle(graph, settle_s)
    time.sleep(pause_s)
    return statistics.median(replay_seconds(run, graph, replays)) / launches


def timed(run, seconds, source):
    """The rows of a point that is one kernel."""
    return [{"time_us": seconds * 1e6, "source": run.source(source)}]
