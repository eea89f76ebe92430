#!/usr/bin/env python3
"""Measures a GPU: products, attention, element-wise operators, copies, whole iterations of a model, board power.

    gpu_profile.py DIRECTORY [--quick] [PART[=SECONDS] ...]

Every part is a process of its own, ends within its seconds, and keeps what it had when it fails."""
import json
import os
import platform
import sys
import time

import torch

import attention
import common
import copies
import elementwise
import iterations
import power
import products

PARTS = {  # what it runs, for how many seconds at most
    "bf16": (products.bf16, 230),
    "bf16-boost": (products.bf16_boost, 110),
    "fp8": (products.fp8, 110),
    "prefill-cudnn": (attention.prefill_cudnn, 110),
    "prefill-flash2": (attention.prefill_flash2, 120),
    "decode": (attention.decode_own, 60),
    "decode-flash2": (attention.decode_flash2, 25),
    "decode-cudnn": (attention.decode_cudnn, 25),
    "elementwise": (elementwise.measure, 40),
    "copies": (copies.measure, 60),
    "iterations": (iterations.measure, 170),
    "power": (power.measure, 190),
}


def notes(out):
    """What ran where."""
    device, gpu = common.Device(), torch.cuda.get_device_properties(0)
    ask = lambda name, *more: str(device.ask(name, *more))
    known = {"gpu": gpu.name, "multiprocessors": gpu.multi_processor_count, "memory_bytes": gpu.total_memory,
             "l2_bytes": gpu.L2_cache_size, "driver": driver(),
             "cuda": torch.version.cuda, "torch": torch.__version__, "cudnn": torch.backends.cudnn.version(),
             "triton": __import__("triton").__version__, "python": platform.python_version(),
             "power_limit_mw": ask("nvmlDeviceGetPowerManagementLimit"),
             "sm_max_mhz": ask("nvmlDeviceGetMaxClockInfo", 1),
             "memory_max_mhz": ask("nvmlDeviceGetMaxClockInfo", 2), "ecc": ask("nvmlDeviceGetEccMode"),
             "pcie_generation": ask("nvmlDeviceGetCurrPcieLinkGeneration"),
             "pcie_width": ask("nvmlDeviceGetCurrPcieLinkWidth"), "cpus": os.cpu_count()}
    with open(os.path.join(out, "notes.json"), "w") as file:
        json.dump(known, file, indent=1)
    print(json.dumps(known), flush=True)


def driver():
    try:
        return str(common.pynvml.nvmlSystemGetDriverVersion())
    except Exception:
        return "unknown"


def run_part(name, out, seconds, quick):
    """In a child, so that no part's failure or memory is another's."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            if name == "idle":
                power.idle_without_context(out, seconds)
            else:
                {"notes": lambda run: notes(run.out), **{key: part[0] for key, part in PARTS.items()}}[name](
                    common.Run(out, seconds, quick))
            code = 0
        except BaseException as error:
            print(f"{name}: {type(error).__name__}: {error}", flush=True)
        os._exit(code)
    until = time.monotonic() + seconds + 25
    while time.monotonic() < until:
        if os.waitpid(child, os.WNOHANG)[0] == child:
            return
        time.sleep(0.05)
    print(f"{name}: stopped", flush=True)
    os.kill(child, 9)
    os.waitpid(child, 0)


def main(arguments):
    quick = "--quick" in arguments
    out, *wanted = [word for word in arguments if word != "--quick"] or sys.exit(__doc__)
    os.makedirs(out, exist_ok=True)
    begin = time.monotonic()
    for word in ["idle=0.3" if quick else "idle=4", "notes"] + (wanted or list(PARTS)):
        name, _, seconds = word.partition("=")
        limit = float(seconds or (8 if quick else PARTS.get(name, (None, 10))[1]))
        run_part(name, out, limit, quick)
        print(f"{time.monotonic() - begin:6.1f} s: {name}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
