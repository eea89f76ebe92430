"""The device of runner.py: an NVIDIA GPU by PyTorch. Children import the modules that measure."""
import importlib
import importlib.util
import platform

import torch

from . import plan
from .runner import Skip
from .timing import Device, pynvml


def version(name):
    """Of a package that may be missing."""
    try:
        return str(importlib.import_module(name).__version__) if importlib.util.find_spec(name) else None
    except Exception:
        return None


def vllm_version():
    """Without importing it, which takes long."""
    try:
        from importlib import metadata
        return metadata.version("vllm") if importlib.util.find_spec("vllm") else None
    except Exception:
        return None


def text_of(function):
    """A text that NVML reports, or None."""
    try:
        value = getattr(pynvml, function)()
        return value.decode() if isinstance(value, bytes) else str(value)
    except Exception:
        return None


def power_sensor(device):
    """What the column instant_w is; None where NVML reports no power."""
    if device.instant_w() > 0.0:
        return "NVML_FI_DEV_POWER_INSTANT"
    return "nvmlDeviceGetPowerUsage" if device.average_w() > 0.0 else None


def total_memory(device, properties):
    try:
        return int(pynvml.nvmlDeviceGetMemoryInfo(device.handle).total)
    except Exception:
        return int(properties.total_memory)


class Backend:
    def facts(self):
        if not torch.cuda.is_available():
            raise Skip("PyTorch finds no CUDA device")
        device, properties = Device(), torch.cuda.get_device_properties(0)
        nccl = torch.cuda.nccl.version() if torch.distributed.is_nccl_available() else None
        ask = lambda name, *more: float(device.ask(name, *more))
        return {"gpu": properties.name, "capability": properties.major + properties.minor / 10,
                "gpus": torch.cuda.device_count(), "sms": properties.multi_processor_count,
                "memory_bytes": total_memory(device, properties),
                "l2_bytes": getattr(properties, "L2_cache_size", None),
                "power_limit_w": ask("nvmlDeviceGetPowerManagementLimit") / 1e3,
                "sm_max_mhz": ask("nvmlDeviceGetMaxClockInfo", 1),
                "memory_max_mhz": ask("nvmlDeviceGetMaxClockInfo", 2),
                "pcie_generation": ask("nvmlDeviceGetCurrPcieLinkGeneration"),
                "pcie_width": ask("nvmlDeviceGetCurrPcieLinkWidth"), "power_sensor": power_sensor(device),
                "driver": text_of("nvmlSystemGetDriverVersion"), "cuda": torch.version.cuda,
                "python": platform.python_version(), "torch": torch.__version__, "triton": version("triton"),
                "cudnn": str(torch.backends.cudnn.version()),
                "nccl": ".".join(map(str, nccl)) if isinstance(nccl, tuple) else nccl and str(nccl),
                "vllm": vllm_version()}

    def open(self, part, facts, is_quick):
        if part == "idle":  # before CUDA is used
            from . import power
            return power.Idle(is_quick)
        if part == "vllm":  # starts processes of its own
            from . import serving
            return serving.Requests(facts)
        if part == "collectives":
            from . import collectives
            return collectives.Collectives()
        from .timing import Run
        return self.open_on_gpu(part, Run(facts, is_quick))

    def open_on_gpu(self, part, run):
        from . import attention, copies, elementwise, iterations, power, products
        return {"bf16": lambda: products.Bf16(run, True), "bf16-boost": lambda: products.Bf16(run, False),
                "fp8": lambda: products.Fp8(run), "nvfp4": lambda: products.Nvfp4(run),
                "prefill-cudnn": lambda: attention.Prefill(run, attention.cudnn, "cuDNN"),
                "prefill-flash2": lambda: attention.Prefill(run, attention.flash2, "FlashAttention-2"),
                "decode": lambda: attention.Decode(run, attention.own, "own split-KV decode in Triton"),
                "decode-flash2": lambda: attention.Decode(run, lambda *_: attention.flash2, "FlashAttention-2"),
                "decode-cudnn": lambda: attention.Decode(run, lambda *_: attention.cudnn, "cuDNN"),
                "elementwise": lambda: elementwise.Elementwise(run), "copies": lambda: copies.Copies(run),
                "iterations": lambda: iterations.Iterations(run), "power": lambda: power.Loads(run),
                "power-steps": lambda: power.Steps(run)}[part]()


assert {part.name for part in plan.PARTS} == {
    "idle", "vllm", "collectives", "bf16", "bf16-boost", "fp8", "nvfp4", "prefill-cudnn", "prefill-flash2", "decode",
    "decode-flash2", "decode-cudnn", "elementwise", "copies", "iterations", "power", "power-steps"}
