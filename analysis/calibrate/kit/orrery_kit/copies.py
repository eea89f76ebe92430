"""Copies between host and GPU, and between GPUs: by size, both directions at once, and beside kernels that compute or
read memory."""
import statistics
import time

import torch

from . import kernels, timing
from .plan import MIB


class Buffers:
    def __init__(self, size):
        self.gpu = [torch.randint(0, 255, (size,), dtype=torch.uint8, device="cuda") for _ in range(2)]
        self.pinned = [part.cpu().pin_memory() for part in self.gpu]
        self.pageable = self.gpu[0].cpu()
        self.streams = [torch.cuda.Stream() for _ in range(2)]
        self.peer = torch.empty(size, dtype=torch.uint8, device="cuda:1") if torch.cuda.device_count() > 1 else None


def copy(buffers, direction, host, size, offset=0):
    """One copy on the current stream: "h2d" or "d2h" from or to memory of `host`, "d2d" on the GPU, "p2p" to the second
    GPU."""
    lane = 1 if direction == "d2h" else 0
    gpu = buffers.gpu[lane][offset:offset + size]
    if direction == "p2p":
        buffers.peer[offset:offset + size].copy_(gpu, non_blocking=True)
        return
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


def by_size(buffers, direction, host, size):
    n = max(3, min(100, 256 * MIB // size))
    seconds = one_by_one(buffers, direction, host, size, min(n, 30))
    rows = [{"seconds": seconds, "bytes_per_s": size / seconds, "method": "one by one, with waiting for it"}]
    if host != "pageable":
        seconds = in_a_row(buffers, direction, host, size, n)
        rows.append({"seconds": seconds, "bytes_per_s": size / seconds, "method": "in a row"})
    return rows


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


def both_directions(buffers, size):
    lanes = [Lane(buffers, direction, size, 0.05) for direction in ("h2d", "d2h")]
    alone = [together([lane])[1][0] for lane in lanes]
    return [{"copy": lane.direction, "host": "pinned", "bytes": size, "beside": "the other direction",
             "seconds": size / rate, "bytes_per_s": rate, "copy_slowdown": single / rate, "method": "in a row"}
            for lane, rate, single in zip(lanes, together(lanes)[1], alone)]


def loads():
    """Kernels to copy beside, by name: each goes through more memory than an L2 holds."""
    x = timing.random_bf16(8192 * 8192, 1.0).view(8192, 8192)
    y = torch.empty_like(x)
    pool = timing.random_bf16(1 << 30, 0.02)
    weights = timing.views(pool, (8192, 8192), most=8)
    source, target = timing.views(pool, (1 << 28,))[:2]
    sets = 8, 8192
    attend = kernels.Decode(*sets, 32, 8, torch.cuda.get_device_properties(0).multi_processor_count)
    n = sets[0] * sets[1] * 8 * 128
    q = timing.random_bf16(8 * 32 * 128, 1.0).view(8, 32, 128)
    result = torch.empty_like(q)
    keep = [pool[i * n:(i + 1) * n] for i in range(8)]
    return {"gemm of 8192 rows": lambda i: torch.mm(x, weights[i % len(weights)].t(), out=y),
            "gemm of 16 rows": lambda i: torch.mm(x[:16], weights[i % len(weights)].t(), out=y[:16]),
            "decode attention": lambda i: attend(q, keep[2 * i % 8], keep[(2 * i + 1) % 8], result),
            "copy on the GPU": lambda i: target.copy_(source)}


def beside_kernel(buffers, name, launch, directions, size):
    graph = timing.capture(launch, 16)
    once = together([], graph, 3)[0] / 3
    times = max(2, int(0.12 / once))
    alone_s = together([], graph, times)[0]
    lanes = [Lane(buffers, direction, size, 2.0 * alone_s) for direction in directions]
    alone = [together([lane])[1][0] for lane in lanes]
    seconds, rates = together(lanes, graph, times)
    beside = name + (" and the other direction" if len(lanes) > 1 else "")
    return [{"copy": lane.direction, "host": "pinned", "bytes": size, "beside": beside, "seconds": size / rate,
             "bytes_per_s": rate, "beside_slowdown": seconds / alone_s, "copy_slowdown": single / rate,
             "method": "in a row"} for lane, rate, single in zip(lanes, rates, alone)]


class Copies:
    def __init__(self, run):
        self.buffers, self.loads = Buffers(1 << 30), None

    def measure(self, point):
        if "_both" in point:
            return both_directions(self.buffers, point["_both"])
        if "_beside" not in point:
            return by_size(self.buffers, point["copy"], point["host"], point["bytes"])
        self.loads = self.loads or loads()
        name = point["_beside"]
        return beside_kernel(self.buffers, name, self.loads[name], point["_copies"], point["_bytes"])
