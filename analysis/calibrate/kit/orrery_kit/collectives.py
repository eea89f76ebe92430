"""NCCL's collectives among the first 2, 4 and 8 GPUs of this machine, each launched by a CUDA graph: a process per GPU,
as engines have them. Numbers are bf16."""
import os
import socket
import statistics

import torch

from .runner import Skip

WAIT_S = 60.0
LAUNCHES, REPLAYS = 8, 7


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def launch_of(op, size, rank, gpus):
    """A function that launches the collective over `size` bytes as Orrery counts them: what a GPU ends up with or
    starts from."""
    import torch.distributed as dist
    count = max(gpus, size // 2 // gpus * gpus)
    make = lambda n: torch.randn(n, device="cuda").to(torch.bfloat16)
    if op == "all_reduce":
        numbers = make(count).mul_(1e-3)  # sums of sums stay finite
        return lambda: dist.all_reduce(numbers)
    if op == "all_gather":
        part, whole = make(count // gpus), make(count)
        return lambda: dist.all_gather_into_tensor(whole, part)
    if op == "reduce_scatter":
        whole, part = make(count), make(count // gpus)
        return lambda: dist.reduce_scatter_tensor(part, whole)
    if op == "all_to_all":
        given, taken = make(count), make(count)
        return lambda: dist.all_to_all_single(taken, given)
    numbers = make(count)
    return (lambda: dist.send(numbers, 1)) if rank == 0 else (lambda: dist.recv(numbers, 0))


def seconds_of(op, size, rank, gpus):
    """The median of one launch, among LAUNCHES of a graph that all GPUs replay together."""
    import torch.distributed as dist
    launch = launch_of(op, size, rank, gpus)
    for _ in range(2):
        launch()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, capture_error_mode="thread_local"):
        for _ in range(LAUNCHES):
            launch()
    times = []
    for _ in range(REPLAYS + 1):
        dist.barrier()
        torch.cuda.synchronize()
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        graph.replay()
        end.record()
        torch.cuda.synchronize()
        times.append(begin.elapsed_time(end) * 1e-3 / LAUNCHES)
    return statistics.median(times[1:])


def work(rank, gpus, port, orders, answers):
    """The process of one GPU: takes (op, size) until None; the first GPU answers."""
    import torch.distributed as dist
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl", rank=rank, world_size=gpus)
    while (order := orders.get()) is not None:
        try:
            answer = seconds_of(*order, rank, gpus)
        except Exception as error:
            answer = f"{type(error).__name__}: {error}"
        if rank == 0:
            answers.put(answer)
    dist.destroy_process_group()


class Collectives:
    def __init__(self):
        self.gpus, self.processes, self.orders, self.answers = 0, [], [], None

    def start(self, gpus):
        self.finish()
        context, port = torch.multiprocessing.get_context("spawn"), free_port()
        self.gpus, self.answers = gpus, context.Queue()
        self.orders = [context.Queue() for _ in range(gpus)]
        self.processes = [context.Process(target=work, args=(rank, gpus, port, self.orders[rank], self.answers),
                                          daemon=True) for rank in range(gpus)]
        for process in self.processes:
            process.start()

    def finish(self):
        for orders in self.orders:
            orders.put(None)
        for process in self.processes:
            process.join(5.0)
            if process.is_alive():
                process.terminate()
        self.gpus, self.processes, self.orders = 0, [], []

    def measure(self, point):
        if point["gpus"] != self.gpus:
            self.start(point["gpus"])
        for orders in self.orders:
            orders.put((point["kernel"], point["bytes"]))
        try:
            answer = self.answers.get(timeout=WAIT_S)
        except Exception:
            raise Skip(f"no answer from {point['gpus']} processes within {WAIT_S:g} s at {point['kernel']} of "
                       f"{point['bytes']} bytes") from None
        if isinstance(answer, str):
            self.finish()
            raise RuntimeError(answer)
        nccl = torch.cuda.nccl.version()
        name = ".".join(map(str, nccl)) if isinstance(nccl, tuple) else str(nccl)
        return [{"time_us": answer * 1e6, "source": f"NCCL {name}, {LAUNCHES} in a CUDA graph"}]
