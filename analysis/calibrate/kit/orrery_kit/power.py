"""Board power under loads that are held for seconds: the counter of energy over the time, NVML's one-second average and
its instantaneous value, with clocks. Operands are random."""
import math
import statistics
import threading
import time

import torch

from . import attention, plan, timing

MODEL_BYTES, MODEL_FLOP, TOKEN_BYTES = 2 * 7.505e9, 2 * 7.505e9, 131072  # of an iteration, of a token
HEAD_WEIGHTS, LAYERS, HIDDEN = 525e6, 32, 4096
SIDE, PRODUCT_FLOP = 8192, 2.0 * 8192 ** 3


class Sampler(threading.Thread):
    """Reads power and clocks every 20 ms until told to stop."""

    def __init__(self, device):
        super().__init__(daemon=True)
        self.device, self.stopping, self.samples = device, threading.Event(), []

    def run(self):
        device = self.device
        while not self.stopping.wait(0.02):
            average_w, instant_w = device.average_w(), device.instant_w()
            self.samples.append((average_w, average_w if math.isnan(instant_w) else instant_w, device.sm_mhz(),
                                 device.memory_mhz(), device.celsius()))

    def finish(self):
        self.stopping.set()
        self.join()
        average, instant, sm, memory, celsius = (statistics.median(column) for column in zip(*self.samples))
        return {"average_w": average, "instant_w": instant, "instant_max_w": max(s[1] for s in self.samples),
                "sm_mhz": sm, "memory_mhz": memory, "celsius": celsius}


def play(step, seconds):
    """Runs a load for a time, two launches ahead of the device at most. Returns seconds and launches."""
    torch.cuda.synchronize()
    begin, n, waiting = time.perf_counter(), 0, []
    while time.perf_counter() - begin < seconds:
        step()
        n += 1
        event = torch.cuda.Event()
        event.record()
        waiting.append(event)
        if len(waiting) > 2:
            waiting.pop(0).synchronize()
    torch.cuda.synchronize()
    return time.perf_counter() - begin, n


def rest(_, seconds):
    time.sleep(seconds)
    return seconds, 1


def hold(device, is_quick, step, flop=0.0, moved=0.0, busy=1.0):
    """The row of a load; flop and moved are those of a launch. The first two seconds warm up and do not count. Without
    a step: idle."""
    warm, held = (0.2, 0.3) if is_quick else (2.0, 3.0)
    do = rest if step is None else play
    do(step, warm)
    sampler = Sampler(device)
    sampler.start()
    joules, begin = device.joules(), time.perf_counter()
    seconds, n = do(step, held)
    energy_w = (device.joules() - joules) / (time.perf_counter() - begin)
    return {"held_s": seconds, "launch_s": seconds / n, "busy_frac": busy, "energy_w": energy_w, **sampler.finish(),
            "flop_per_s": flop * n / seconds, "bytes_per_s": moved * n / seconds}


class Idle:
    """Before any process uses CUDA."""

    def __init__(self, is_quick):
        self.device, self.is_quick = timing.Device(), is_quick

    def measure(self, point):
        return [hold(self.device, self.is_quick, None, busy=0.0)]


def replays(launch, n):
    """Replays a graph, and keeps alive what the launches write to."""
    graph = timing.capture(launch, n)

    def replay():
        graph.replay()
        return launch
    return replay


# --- Loads without a model: (step, flop, bytes moved) of a launch ---

def gemm_bf16():
    x = timing.random_bf16(SIDE * SIDE, 1.0).view(SIDE, SIDE)
    y = torch.empty(SIDE, SIDE, dtype=timing.BF16, device="cuda")
    weights = timing.views(timing.random_bf16(4 * SIDE * SIDE, 0.02), (SIDE, SIDE))
    return (replays(lambda i: torch.mm(x, weights[i % len(weights)].t(), out=y), 8), 8 * PRODUCT_FLOP,
            8 * 6.0 * SIDE * SIDE)


def gemm_fp8():
    y = torch.empty(SIDE, SIDE, dtype=timing.BF16, device="cuda")
    x, one = timing.random_fp8(SIDE * SIDE).view(SIDE, SIDE), torch.ones((), device="cuda")
    weights = timing.views(timing.random_fp8(4 * SIDE * SIDE), (SIDE, SIDE))
    return (replays(lambda i: torch._scaled_mm(x, weights[i % len(weights)].t(), one, one, out=y,
                                               out_dtype=timing.BF16, use_fast_accum=True), 8), 8 * PRODUCT_FLOP,
            8 * 4.0 * SIDE * SIDE)


def gemm_zeros():
    x = torch.zeros(SIDE, SIDE, dtype=timing.BF16, device="cuda")
    y = torch.empty_like(x)
    return replays(lambda i: torch.mm(x, x.t(), out=y), 8), 8 * PRODUCT_FLOP, 8 * 6.0 * SIDE * SIDE


def memory_load(kind, numbers):
    source = timing.random_bf16(numbers, 1.0)
    if kind == "memory read":
        return replays(lambda i: torch.sum(source), 4), 0.0, 4 * 2.0 * numbers
    target = torch.empty_like(source)
    launch = (lambda i: target.copy_(source)) if kind == "memory copy" else (lambda i: torch.neg(source, out=target))
    return replays(launch, 4), 0.0, 4 * 2.0 * 2 * numbers


def host_copy():
    pinned = torch.randint(0, 255, (1 << 28,), dtype=torch.uint8).pin_memory()
    onto = torch.empty(1 << 28, dtype=torch.uint8, device="cuda")
    return lambda: onto.copy_(pinned, non_blocking=True), 0.0, float(1 << 28)


def half_idle(step):
    """An iteration, and as long nothing: what a replica draws that waits half of its time."""
    seconds, n = play(step, 0.2)

    def pause():
        step()
        torch.cuda.synchronize()
        time.sleep(seconds / n)
    return pause


class Loads:
    def __init__(self, run):
        torch.zeros(1, device="cuda")
        self.run, self.model = run, None

    def measure(self, point):
        torch.cuda.empty_cache()
        if point["load"].startswith("idle"):
            self.model = None
            torch.cuda.empty_cache()
            return [hold(self.run.device, self.run.quick, None, busy=0.0)]
        step, flop, moved = self.prepare(point)
        busy = 0.5 if point["load"] == "decode, half the time" else 1.0
        return [hold(self.run.device, self.run.quick, step, flop, moved, busy)]

    def prepare(self, point):
        load = point["load"]
        if load.startswith("memory"):
            return memory_load(load, min(1 << 31, int(self.run.facts["memory_bytes"]) // 16))
        alone = {"gemm bf16": gemm_bf16, "gemm fp8": gemm_fp8, "gemm bf16 of zeros": gemm_zeros,
                 "host to device copy": host_copy}
        return alone[load]() if load in alone else self.prepare_model(point)

    def prepare_model(self, point):
        if self.model is None:
            from .model import Model
            self.model = Model(plan.cache_tokens(self.run.facts, 300_000))
        n, b = point["context"], point["sequences"]
        if point["load"] == "prefill":
            step = replays(self.model.prefill(1, n, 0, attention.cudnn), 1)
            return step, n * (MODEL_FLOP - 2.0 * HEAD_WEIGHTS + 2.0 * n * LAYERS * HIDDEN), MODEL_BYTES
        step = replays(self.model.decode(b, n), 1)
        flop, moved = b * (MODEL_FLOP + 4.0 * n * LAYERS * HIDDEN), MODEL_BYTES + b * n * TOKEN_BYTES
        return (half_idle(step) if point["load"].startswith("decode,") else step), flop, moved


class Steps:
    """How a load that begins and ends reaches power and clock: samples of 2 s of load and 2 s of rest."""

    def __init__(self, run):
        from .model import Model
        self.run, self.model = run, Model(max(plan.LEAST_CACHE_TOKENS, plan.cache_tokens(run.facts, 40_000)))

    def step_of(self, load):
        if load == "gemm bf16":
            x = timing.random_bf16(SIDE * SIDE, 1.0).view(SIDE, SIDE)
            y = torch.empty_like(x)
            return replays(lambda i: torch.mm(x, x.t(), out=y), 1)
        if load == "prefill of 2048":
            return replays(self.model.prefill(1, 2048, 0, attention.cudnn), 1)
        return replays(self.model.decode(32, min(1024, self.model.cache_tokens // 32)), 1)

    def measure(self, point):
        step, device, rows = self.step_of(point["load"]), self.run.device, []
        whole_s = 0.2 if self.run.quick else 4.0
        time.sleep(2.0)
        begin = last = time.perf_counter()
        while last - begin < whole_s:
            is_busy = last - begin < whole_s / 2
            if is_busy:
                step()
                torch.cuda.synchronize()
            else:
                time.sleep(0.01)
            now = time.perf_counter()
            rows.append({"t_s": now - begin, "launch_us": (now - last) * 1e6 if is_busy else 0.0,
                         "average_w": device.average_w(), "instant_w": device.instant_w(), "sm_mhz": device.sm_mhz()})
            last = time.perf_counter()
        return rows
