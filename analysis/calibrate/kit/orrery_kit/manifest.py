"""manifest.json: what ran where, and what became of each part. Orrery reads it (analysis/calibrate/kit/kit.c).

Facts are a dict: gpu (name), gpus, capability (number), sms, memory_bytes, l2_bytes, power_limit_w, sm_max_mhz,
memory_max_mhz, pcie_generation, pcie_width, power_sensor, and versions: driver, cuda, python, torch, triton, cudnn,
nccl, vllm. What is unknown is None."""
import datetime
import json
import math
import os

VERSION = 1
SAME = ("gpu", "gpus", "sms", "memory_bytes", "driver", "torch", "power_limit_w")  # of rows that belong together


def path_of(out):
    return os.path.join(out, "manifest.json")


def load(out):
    """The manifest of a folder, or None."""
    if not os.path.exists(path_of(out)):
        return None
    with open(path_of(out)) as file:
        return json.load(file)


def save(out, manifest):
    """Whole or not at all."""
    part = path_of(out) + ".part"
    with open(part, "w") as file:
        json.dump(manifest, file, indent=1)
        file.write("\n")
        file.flush()
        os.fsync(file.fileno())
    os.replace(part, path_of(out))


def clean(value):
    """NVML may know no number; JSON has no NaN."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


def begin(facts, now=None):
    now = now or datetime.datetime.now(datetime.timezone.utc)
    known = {name: clean(value) for name, value in facts.items() if clean(value) is not None}
    known["capability"] = f"{facts['capability']:.1f}"
    return {"kit": VERSION, "date": now.strftime("%Y-%m-%dT%H:%M:%SZ"), **known, "parts": {}}


def difference(manifest, facts):
    """Why rows of this machine must not join those of the folder, or None."""
    if manifest.get("kit") != VERSION:
        return f"it was written by version {manifest.get('kit')} of the kit, this is {VERSION}"
    for name in SAME:
        if manifest.get(name) != clean(facts.get(name)):
            return f"its {name} is {manifest.get(name)}, here it is {clean(facts.get(name))}"
    return None


def record(manifest, name, status, measured, planned, seconds, reason, file):
    """Notes a part; its time adds up over calls."""
    before = manifest["parts"].get(name, {}).get("seconds", 0)
    entry = {"status": status, "measured": measured, "planned": planned, "seconds": round(before + seconds, 1)}
    if reason:
        entry["reason"] = reason
    if measured > 0:
        entry["files"] = [file]
    manifest["parts"][name] = entry
