"""Whole iterations of the model under CUDA graphs: decoding sequences, prompts, chunks on top of earlier tokens."""
import os
import statistics
import time

import torch

import attention
import common
from model import Model

COLUMNS = ("phase", "sequences", "tokens", "past", "context", "time_us", "boost_time_us", "runs", "spread",
           "sm_mhz", "boost_sm_mhz", "source")
BATCHES = (1, 2, 4, 8, 16, 24, 32, 48, 64, 96, 128, 160, 192, 256)
CONTEXTS = (128, 512, 1024, 2048, 4096, 8192, 16384, 32768)
PROMPTS = (128, 192, 256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192)
MANY = ((2, 512), (4, 512), (8, 512), (16, 512), (4, 128), (16, 128), (32, 128), (2, 2048), (4, 2048))
CHUNKS = tuple((1, n, past) for n in (256, 512, 2048) for past in (2048, 8192, 30720))


def time_iteration(run, rows, launch, source, **shape):
    """At the clock that the load can hold, and before, after a pause, at the boost clock."""
    graph = common.capture(launch, 1)
    time.sleep(0.1)
    boost = statistics.median(common.replay_seconds(run, graph, 3))
    boost_mhz = run.mhz
    common.settle(graph, 0.3)
    times = common.replay_seconds(run, graph, max(5, min(15, int(0.15 / boost))))
    rows.add(**shape, time_us=statistics.median(times) * 1e6, boost_time_us=boost * 1e6, runs=len(times),
             spread=(max(times) - min(times)) / statistics.median(times), sm_mhz=run.mhz, boost_sm_mhz=boost_mhz,
             source=source)


def decode(run, rows, model):
    points = [(b, n) for b in BATCHES for n in CONTEXTS if b * n <= model.cache_tokens]
    for b, n in run.shorten(common.spread(points)):
        if run.late():
            return
        shape = {"phase": "decode", "sequences": b, "tokens": b, "past": 0, "context": n}
        common.attempt(f"decode {b} {n}", lambda: time_iteration(run, rows, model.decode(b, n), "own split-KV decode",
                                                                 **shape))


def prefill(run, rows, model):
    points = [(1, n, 0) for n in PROMPTS] + [(b, n, 0) for b, n in MANY] + list(CHUNKS)
    for name, kernel in (("cuDNN", attention.cudnn), ("FlashAttention-2", attention.flash2)):
        for b, n, past in run.shorten(common.spread(points)):
            if run.late():
                return
            if past > 0 and name == "cuDNN":
                continue
            shape = {"phase": "prefill", "sequences": b, "tokens": b * n, "past": past, "context": 0}
            common.attempt(f"prefill {name} {b} {n} {past}",
                           lambda: time_iteration(run, rows, model.prefill(b, n, past, kernel), f"{name} prefill",
                                                  **shape))
            torch.cuda.empty_cache()


def measure(run):
    rows = common.Rows(os.path.join(run.out, "iterations.csv"), COLUMNS)
    model = Model(40_000 if run.quick else 600_000)
    print(f"model: decoding lies {common.attempt('check', model.check)} from the prompt", flush=True)
    for part in (prefill, decode):
        common.attempt(part.__name__, part, run, rows, model)
    print(f"iterations: {rows.count} rows", flush=True)
