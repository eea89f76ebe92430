"""Copies between host and GPU: by size, both directions at once, and beside kernels that compute or read memory."""
import os
import statistics
import time

import torch

import common
import kernels

COLUMNS = ("copy", "host", "bytes", "beside", "seconds", "bytes_per_s", "beside_slowdown", "copy_slowdown", "method")
SIZES = tuple(1 << power for power in range(12, 31))
MIB = 1 << 20


class Buffers:
    def __init__(self, size):
        self.gpu = [torch.randint(0, 255, (size,), dtype=torch.uint8, device="cuda") for _ in range(2)]
        self.pinned = [part.cpu().pin_memory() for part in self.gpu]
        self.pageable = self.gpu[0].cpu()
        self.streams = [torch.cuda.Stream() for _ in range(2)]


def copy(buffers, direction, host, size, offset=0):
    """One copy on the current stream: "h2d" or "d2h" from or to memory of `host`, "d2d" on the GPU."""
    lane = 1 if direction == "d2h" else 0
    gpu = buffers.gpu[lane][offset:offset + size]
    other = (buffers.gpu[1] if direction == "d2d" else buffers.pinned[lane] if host == "pinned" else
             buffers.pageable)[offset:offset + size]
    target, source = (gpu, other) if direction == "h2d" else (other, gpu)
    target.copy_(source, non_blocking=host != "pageable")


def one_by_one(buffers, direction, host, size, n):
    """Median seconds of a copy, from its call until the host knows that it is done."""
    times = []
    for i in range(n + 1):
        torch.cuda.synchronize()
        begin = time.perf_counter()
        copy(buffers, direction, host, size, i * size % (len(buffers.gpu[0]) - size + 1) // 512 * 512)
        torch.cuda.synchronize()
        times.append(time.perf_counter() - begin)
    return statistics.median(times[1:])


def in_a_row(buffers, direction, host, size, n):
    """Seconds of a copy among n that were queued together."""
    events = [torch.cuda.Event(enable_timing=True) for _ in range(2)]
    torch.cuda._sleep(20_000_000)
    events[0].record()
    for i in range(n):
        copy(buffers, direction, host, size, i * size % (len(buffers.gpu[0]) - size + 1) // 512 * 512)
    events[1].record()
    torch.cuda.synchronize()
    return events[0].elapsed_time(events[1]) * 1e-3 / n


def by_size(run, rows, buffers):
    for direction, host in (("h2d", "pinned"), ("d2h", "pinned"), ("h2d", "pageable"), ("d2h", "pageable"),
                            ("d2d", "")):
        for size in run.shorten(SIZES):
            n = max(3, min(100, 256 * MIB // size))
            seconds = one_by_one(buffers, direction, host, size, min(n, 30))
            rows.add(copy=direction, host=host, bytes=size, seconds=seconds, bytes_per_s=size / seconds,
                     method="one by one, with waiting for it")
            if host != "pageable":
                seconds = in_a_row(buffers, direction, host, size, n)
                rows.add(copy=direction, host=host, bytes=size, seconds=seconds, bytes_per_s=size / seconds,
                         method="in a row")


# --- at once ---

class Lane:
    """Copies queued on a stream of their own, with an event after each."""

    def __init__(self, buffers, direction, size, seconds):
        self.buffers, self.direction, self.size = buffers, direction, size
        self.stream = buffers.streams[direction == "d2h"]
        self.n = max(4, min(12000, int(seconds * 50e9 / size)))
        self.events = [torch.cuda.Event(enable_timing=True) for _ in range(self.n)]

    def queue(self, i):
        if i >= self.n:
            return
        with torch.cuda.stream(self.stream):
            copy(self.buffers, self.direction, "pinned", self.size, i % (256 * MIB // self.size) * self.size)
            self.events[i].record()

    def bytes_per_s(self, begin, within_s=float("inf")):
        """Of the copies that were done within a time."""
        times = [begin.elapsed_time(event) * 1e-3 for event in self.events]
        done = [t for t in times if t <= within_s] or times[:1]
        return len(done) * self.size / done[-1]


def together(lanes, kernel=None, times=0):
    """Seconds of `times` replays of a graph, and the rates of the lanes meanwhile."""
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    torch.cuda.synchronize()
    torch.cuda._sleep(60_000_000)  # the host queues ahead meanwhile
    begin.record()
    for _ in range(times):
        kernel.replay()
    end.record()
    for lane in lanes:
        lane.stream.wait_event(begin)
    for i in range(max([lane.n for lane in lanes], default=0)):
        for lane in lanes:
            lane.queue(i)
    torch.cuda.synchronize()
    seconds = begin.elapsed_time(end) * 1e-3
    return seconds, [lane.bytes_per_s(begin, seconds if kernel else float("inf")) for lane in lanes]


def both_directions(run, rows, buffers):
    for size in run.shorten((MIB, 4 * MIB, 16 * MIB, 64 * MIB)):
        lanes = [Lane(buffers, direction, size, 0.05) for direction in ("h2d", "d2h")]
        alone = [together([lane])[1][0] for lane in lanes]
        for lane, rate, single in zip(lanes, together(lanes)[1], alone):
            rows.add(copy=lane.direction, host="pinned", bytes=size, beside="the other direction", seconds=size / rate,
                     bytes_per_s=rate, copy_slowdown=single / rate, method="in a row")


def loads():
    """Kernels to copy beside, as (name, launch): each goes through more memory than an L2 holds."""
    x = common.random_bf16(8192 * 8192, 1.0).view(8192, 8192)
    y = torch.empty_like(x)
    pool = common.random_bf16(1 << 30, 0.02)
    weights = common.views(pool, (8192, 8192), most=8)
    source, target = common.views(pool, (1 << 28,))[:2]
    sets = 8, 8192
    attend = kernels.Decode(*sets, 32, 8, torch.cuda.get_device_properties(0).multi_processor_count)
    n = sets[0] * sets[1] * 8 * 128
    q = common.random_bf16(8 * 32 * 128, 1.0).view(8, 32, 128)
    result = torch.empty_like(q)
    keep = [pool[i * n:(i + 1) * n] for i in range(8)]
    return (("gemm of 8192 rows", lambda i: torch.mm(x, weights[i % len(weights)].t(), out=y)),
            ("gemm of 16 rows", lambda i: torch.mm(x[:16], weights[i % len(weights)].t(), out=y[:16])),
            ("decode attention", lambda i: attend(q, keep[2 * i % 8], keep[(2 * i + 1) % 8], result)),
            ("copy on the GPU", lambda i: target.copy_(source)))


def beside_kernels(run, rows, buffers):
    for name, launch in loads():
        graph = common.capture(launch, 16)
        once = together([], graph, 3)[0] / 3
        times = max(2, int(0.12 / once))
        alone_s = together([], graph, times)[0]
        cases = (("h2d",), 64 * MIB), (("d2h",), 64 * MIB), (("h2d", "d2h"), 64 * MIB), (("h2d",), MIB)
        for directions, size in cases:
            if run.late():
                return
            lanes = [Lane(buffers, direction, size, 2.0 * alone_s) for direction in directions]
            alone = [together([lane])[1][0] for lane in lanes]
            seconds, rates = together(lanes, graph, times)
            for lane, rate, single in zip(lanes, rates, alone):
                rows.add(copy=lane.direction, host="pinned", bytes=size,
                         beside=name + (" and the other direction" if len(lanes) > 1 else ""), seconds=size / rate,
                         bytes_per_s=rate, beside_slowdown=seconds / alone_s, copy_slowdown=single / rate,
                         method="in a row")


def measure(run):
    rows = common.Rows(os.path.join(run.out, "copies.csv"), COLUMNS)
    buffers = Buffers(1 << 30)
    for part in (by_size, both_directions, beside_kernels):
        common.attempt(part.__name__, part, run, rows, buffers)
    print(f"copies: {rows.count} rows", flush=True)
