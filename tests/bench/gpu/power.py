"""Board power under loads that are held for seconds: the counter of energy over the time, NVML's one-second average and
its instantaneous value, with clocks. Operands are random."""
import os
import statistics
import threading
import time

import torch

import attention
import common
from model import Model

COLUMNS = ("load", "sequences", "tokens", "context", "held_s", "launch_s", "busy_frac", "energy_w", "average_w",
           "instant_w", "instant_max_w", "sm_mhz", "memory_mhz", "celsius", "flop_per_s", "bytes_per_s")
MODEL_BYTES, MODEL_FLOP, TOKEN_BYTES = 2 * 7.505e9, 2 * 7.505e9, 131072  # of an iteration, of a token


class Sampler(threading.Thread):
    """Reads power and clocks every 20 ms until told to stop."""

    def __init__(self, device):
        super().__init__(daemon=True)
        self.device, self.stopping, self.samples = device, threading.Event(), []

    def run(self):
        device = self.device
        while not self.stopping.wait(0.02):
            self.samples.append((device.average_w(), device.instant_w(), device.sm_mhz(), device.memory_mhz(),
                                 device.celsius()))

    def finish(self):
        self.stopping.set()
        self.join()
        return [statistics.median(column) for column in zip(*self.samples)] + [max(s[1] for s in self.samples)]


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


def hold(run, rows, load, step, flop=0.0, moved=0.0, busy=1.0, **shape):
    """The first two seconds warm up and do not count. Without a step: idle."""
    warm, held = (0.2, 0.3) if run.quick else (2.0, 3.0)
    do = rest if step is None else play
    do(step, warm)
    sampler = Sampler(run.device)
    sampler.start()
    joules, begin = run.device.joules(), time.perf_counter()
    seconds, n = do(step, held)
    energy_w = (run.device.joules() - joules) / (time.perf_counter() - begin)
    average, instant, sm, memory, celsius, instant_max = sampler.finish()
    rows.add(load=load, **shape, held_s=seconds, launch_s=seconds / n, busy_frac=busy, energy_w=energy_w,
             average_w=average, instant_w=instant, instant_max_w=instant_max, sm_mhz=sm, memory_mhz=memory,
             celsius=celsius, flop_per_s=flop * n / seconds, bytes_per_s=moved * n / seconds)


def replays(launch, n):
    """Replays a graph, and keeps alive what the launches write to."""
    graph = common.capture(launch, n)

    def replay():
        graph.replay()
        return launch
    return replay


def idle(run, rows, load):
    hold(run, rows, load, None, busy=0.0)


def decode_loads(run, rows, model):
    batches = [(b, 1024) for b in (1, 8, 32, 64, 128, 256)]
    for b, n in batches + [(32, 8192), (128, 2048), (1, 16384)]:
        if not run.quick or b <= 8 and n <= 1024:
            moved = MODEL_BYTES + b * n * TOKEN_BYTES
            flop = b * (MODEL_FLOP + 4.0 * n * 32 * 4096)
            hold(run, rows, "decode", replays(model.decode(b, n), 1), flop, moved, sequences=b, tokens=b, context=n)


def prefill_loads(run, rows, model):
    for n in (256, 512, 2048, 8192):
        flop = n * (MODEL_FLOP - 2.0 * 525e6 + 2.0 * n * 32 * 4096)
        step = replays(model.prefill(1, n, 0, attention.cudnn), 1)
        hold(run, rows, "prefill", step, flop, MODEL_BYTES, sequences=1, tokens=n, context=n)
        torch.cuda.empty_cache()


def half_idle(run, rows, model):
    """An iteration, and as long nothing: what a replica draws that waits half of its time."""
    step = replays(model.decode(8, 1024), 1)
    seconds = play(step, 0.2)
    each = seconds[0] / seconds[1]

    def pause():
        step()
        torch.cuda.synchronize()
        time.sleep(each)
    hold(run, rows, "decode, half the time", pause, 8 * MODEL_FLOP, MODEL_BYTES, 0.5, sequences=8, tokens=8,
         context=1024)


def floods(run, rows, _):
    n, product = 8192, 2.0 * 8192 ** 3
    x, y = common.random_bf16(n * n, 1.0).view(n, n), torch.empty(n, n, dtype=common.BF16, device="cuda")
    weights = common.views(common.random_bf16(4 * n * n, 0.02), (n, n))
    multiply = replays(lambda i: torch.mm(x, weights[i % len(weights)].t(), out=y), 8)
    hold(run, rows, "gemm bf16", multiply, 8 * product, 8 * 6.0 * n * n, tokens=n)
    narrow, one = common.random_fp8(n * n).view(n, n), torch.ones((), device="cuda")
    columns = common.views(common.random_fp8(4 * n * n), (n, n))
    multiply = replays(lambda i: torch._scaled_mm(narrow, columns[i % len(columns)].t(), one, one, out=y,
                                                  out_dtype=common.BF16, use_fast_accum=True), 8)
    hold(run, rows, "gemm fp8", multiply, 8 * product, 8 * 4.0 * n * n, tokens=n)
    zeros = torch.zeros_like(x)
    multiply = replays(lambda i: torch.mm(zeros, zeros.t(), out=y), 8)
    hold(run, rows, "gemm bf16 of zeros", multiply, 8 * product, 8 * 6.0 * n * n, tokens=n)
    source, target = common.random_bf16(1 << 31, 1.0), torch.empty(1 << 31, dtype=common.BF16, device="cuda")
    hold(run, rows, "memory copy", replays(lambda i: target.copy_(source), 4), 0.0, 4 * 2.0 * 2 * (1 << 31))
    step = replays(lambda i: torch.neg(source, out=target), 4)
    hold(run, rows, "memory copy by a kernel", step, 0.0, 4 * 2.0 * 2 * (1 << 31))
    hold(run, rows, "memory read", replays(lambda i: torch.sum(source), 4), 0.0, 4 * 2.0 * (1 << 31))
    pinned = torch.randint(0, 255, (1 << 28,), dtype=torch.uint8).pin_memory()
    onto = torch.empty(1 << 28, dtype=torch.uint8, device="cuda")
    hold(run, rows, "host to device copy", lambda: onto.copy_(pinned, non_blocking=True), 0.0, 1 << 28)


STEP_COLUMNS = ("load", "t_s", "launch_us", "average_w", "instant_w", "sm_mhz")


def steps(run, rows, model):
    """How a load that begins and ends reaches power and clock: samples of 2 s of load and 2 s of rest."""
    trace = common.Rows(os.path.join(run.out, "power-steps.csv"), STEP_COLUMNS)
    n = 8192
    x, y = common.random_bf16(n * n, 1.0).view(n, n), torch.empty(n, n, dtype=common.BF16, device="cuda")
    for load, step in (("gemm bf16", replays(lambda i: torch.mm(x, x.t(), out=y), 1)),
                       ("prefill of 2048", replays(model.prefill(1, 2048, 0, attention.cudnn), 1)),
                       ("decode of 32", replays(model.decode(32, 1024), 1))):
        time.sleep(2.0)
        begin, last = time.perf_counter(), time.perf_counter()
        while last - begin < (0.2 if run.quick else 4.0):
            busy = last - begin < (0.1 if run.quick else 2.0)
            if busy:
                step()
                torch.cuda.synchronize()
            else:
                time.sleep(0.01)
            now = time.perf_counter()
            trace.add(load=load, t_s=now - begin, launch_us=(now - last) * 1e6 if busy else 0.0,
                      average_w=run.device.average_w(), instant_w=run.device.instant_w(), sm_mhz=run.device.sm_mhz())
            last = time.perf_counter()


def measure(run):
    rows = common.Rows(os.path.join(run.out, "power.csv"), COLUMNS)
    torch.zeros(1, device="cuda")
    idle(run, rows, "idle with context")
    model = Model(16_000 if run.quick else 300_000)
    idle(run, rows, "idle with model, after kernels")
    for part in (steps, decode_loads, prefill_loads, floods, half_idle):
        common.attempt(part.__name__, part, run, rows, model)
        torch.cuda.empty_cache()
    idle(run, rows, "idle after load")
    print(f"power: {rows.count} rows", flush=True)


def idle_without_context(out, seconds):
    """Before any part started CUDA."""
    device = common.Device()
    rows = common.Rows(os.path.join(out, "power.csv"), COLUMNS)
    sampler, joules, begin = Sampler(device), device.joules(), time.perf_counter()
    sampler.start()
    time.sleep(seconds)
    held = time.perf_counter() - begin
    energy_w = (device.joules() - joules) / held
    average, instant, sm, memory, celsius, instant_max = sampler.finish()
    rows.add(load="idle without context", held_s=held, busy_frac=0.0, energy_w=energy_w, average_w=average,
             instant_w=instant, instant_max_w=instant_max, sm_mhz=sm, memory_mhz=memory, celsius=celsius,
             flop_per_s=0.0, bytes_per_s=0.0)
