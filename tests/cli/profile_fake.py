"""A GPU that is none, for tests/cli/profile_kit.sh: the times of a roofline in place of a device."""
import sys
import time

from orrery_kit import manifest, plan, rows, runner

PEAK_FLOP_PER_S, BYTES_PER_S, START_S = 6e14, 2.8e12, 5e-6
FACTS = {"gpu": "NVIDIA H100 80GB HBM3", "capability": 9.0, "gpus": 2, "sms": 132, "memory_bytes": 81559 << 20,
         "l2_bytes": 50 << 20, "power_limit_w": 700.0, "sm_max_mhz": 1980.0, "memory_max_mhz": 2619.0,
         "pcie_generation": 5.0, "pcie_width": float("nan"), "power_sensor": "none", "driver": "1.0", "cuda": "12.9",
         "python": "3.11", "torch": "2.9", "triton": "3.5", "cudnn": "9", "nccl": "2.27", "vllm": None}


def product(point):
    m, n, k = point["m"], point["n"], point["k"]
    scale = 2 if point["weights"] == "fp8" else 1
    return max(2.0 * m * n * k / (scale * PEAK_FLOP_PER_S), 2.0 / scale * (m * k + n * k + m * n) / BYTES_PER_S)


def attention(point):
    n, heads, dim = point["sequences"], point["q_heads"], point["key_dim"]
    if point["kernel"] == "decode_attention":
        return 4.0 * n * point["context"] * point["kv_heads"] * dim / BYTES_PER_S
    each = point["tokens"] / n
    return 2.0 * heads * dim * point["tokens"] * (each + 2.0 * point["past"] / n) / (0.5 * PEAK_FLOP_PER_S)


def collective(point):
    n = point["gpus"]
    passes = {"all_reduce": 2.0 * (n - 1) / n, "send": 1.0}.get(point["kernel"], (n - 1) / n)
    return 1e-5 + passes * point["bytes"] / 3.5e11


def kernel(point):
    if "m" in point:
        seconds = product(point)
    elif "key_dim" in point:
        seconds = attention(point)
    elif "gpus" in point:
        seconds = collective(point)
    else:
        seconds = 2.0 * point["tokens"] * point["width"] / BYTES_PER_S
    return [{"time_us": (START_S + seconds) * 1e6, "source": "a roofline"}]


def load(point):
    """120 W idle, 80 W of kernels, 400 W at the peak of memory, 200 W at that of compute."""
    size = point.get("tokens", 0)
    flop, moved = {"gemm": (6e14, 1e11), "prefill": (1e14 + 5e10 * size, 2e11), "decode": (1e12, 1e12 + 7e9 * size),
                   "memory": (0.0, 3e12)}.get(point["load"].split()[0].rstrip(","), (0.0, 0.0))
    busy = 0.0 if point["load"].startswith("idle") else 0.5 if "half" in point["load"] else 1.0
    watts = 121.7 + busy * (80.0 + 400.0 * moved / 3.35e12 + 200.0 * flop / 9.89e14)
    return [{"busy_frac": busy, "instant_w": watts, "average_w": float("nan"), "flop_per_s": busy * flop,
             "bytes_per_s": busy * moved}]


def copy(point):
    if "copy" not in point:
        return [{"copy": "h2d", "host": "pinned", "bytes": 1, "beside": "a kernel", "bytes_per_s": 9e11}]
    seconds = 1e-5 + point["bytes"] / (3e11 if point["copy"] == "p2p" else 5e10)
    return [{"seconds": seconds, "bytes_per_s": point["bytes"] / seconds, "method": "in a row"}]


def iteration(point):
    return [{"time_us": 6000.0 + 25.0 * (point["tokens"] if point["phase"] == "prefill" else 1), "source": "own"}]


def request(point):
    return [{"ttft_s": 0.05, "e2e_s": 0.05 + 0.008 * (point["output_tokens"] - 1), "tpot_s": 0.008}]


MEASURE = {"copies": copy, "iterations": iteration, "power": load, "idle": load, "vllm": request,
           "power-steps": lambda point: [{"t_s": 0.0, "instant_w": 100.0}]}


class Fake:
    """`dies_after`: points after which a part loses its process; `refuses`: a part that cannot run here; `hangs`: a
    measurement never ends."""

    def __init__(self, facts=FACTS, dies_after=None, refuses=None, hangs=False):
        self.known, self.dies_after, self.refuses, self.hangs = dict(facts), dies_after, refuses, hangs

    def facts(self):
        return self.known

    def open(self, part, facts, is_quick):
        if part == self.refuses:
            raise runner.Skip("its kernel is wrong")
        self.function, self.left = MEASURE.get(part, kernel), self.dies_after
        return self

    def measure(self, point):
        if self.left == 0:
            raise MemoryError("out of memory")
        if self.hangs:
            time.sleep(3600)
        self.left = self.left and self.left - 1
        if point.get("m") == 8:
            raise ValueError("no such product")
        return self.function(point)


def few(part, n):
    """The part with its first points, every so often: fits of few rows are fast."""
    whole = part.points
    part.points = lambda facts: (lambda points: points[::max(1, len(points) // n)])(whole(facts))


def check_plans():
    """Every part of every GPU: points differ, and their columns are those of the file."""
    ada = {**FACTS, "gpu": "NVIDIA GeForce RTX 4090", "capability": 8.9, "gpus": 1, "memory_bytes": 24564 << 20}
    for facts in (FACTS, ada, {**FACTS, "capability": 10.0, "gpus": 8, "vllm": "0.12", "memory_bytes": 180 << 30},
                  {**FACTS, "capability": 7.5, "gpus": 1, "memory_bytes": 15 << 30, "power_sensor": None}):
        minutes = 0.0
        for part in plan.PARTS:
            if part.needs(facts) is not None:
                continue
            minutes += part.seconds / 60
            points = part.points(facts)
            assert points and len({plan.key(point) for point in points}) == len(points), part.name
            columns = {name for point in points for name in point if not name.startswith("_")}
            assert columns <= set(part.columns), (part.name, columns - set(part.columns))
        assert minutes < 26, minutes
    skipped = {part.name: part.needs(ada) for part in plan.PARTS if part.needs(ada)}
    assert set(skipped) == {"nvfp4", "collectives", "vllm"}, skipped
    bf16 = [(part, 100.0) for part in plan.PARTS if part.name in ("bf16", "fp8", "nvfp4")]
    assert runner.scale_to(10, bf16, ada, {"parts": {"fp8": {"status": "done"}}}) == 6.0
    assert plan.cache_tokens({"memory_bytes": 81559 << 20}) < 600000 < plan.cache_tokens({"memory_bytes": 1 << 40}) + 1


def check_rows(folder):
    """A torn last line goes; the next row stands on a line of its own."""
    table = rows.Rows(f"{folder}/rows.csv", ("a", "b"))
    table.add({"a": 1, "b": 0.1 + 0.2, "_c": 3})
    table.file.write("2,0.")
    table.file.flush()
    rows.Rows(f"{folder}/rows.csv", ("a", "b")).add({"a": 3, "b": float("nan")})
    with open(f"{folder}/rows.csv") as file:
        assert file.read() == "a,b\n1,0.3\n3,\n"


def statuses(out):
    return {name: part["status"] for name, part in manifest.load(out)["parts"].items()}


def refuses(text, function, *arguments):
    try:
        function(*arguments)
    except SystemExit as error:
        assert text in str(error), error
    else:
        raise AssertionError(f"nothing said: {text}")


def check_runs(out):
    """Parts that die go on; parts that are done are not repeated; another machine's rows do not join."""
    runner.main(["--out", out], Fake(dies_after=10))
    assert statuses(out)["bf16"] == "partial" and statuses(out)["nvfp4"] == "skipped", statuses(out)
    assert "MemoryError" in manifest.load(out)["parts"]["bf16"]["reason"]
    runner.main(["--out", out], Fake(refuses="decode-cudnn"))
    found = statuses(out)
    assert found.pop("decode-cudnn") == "partial" and found.pop("nvfp4") == found.pop("vllm") == "skipped", found
    assert set(found.values()) == {"done"}, found
    with open(f"{out}/kernels-isolated.csv") as file:
        lines = file.read().splitlines()
    assert len(lines) == len(set(lines)) > 100, "rows are repeated"
    assert sum(line.startswith("gemm,") and ",8,768," in line for line in lines) == 0
    assert manifest.load(out)["parts"]["bf16"]["reason"].endswith("points failed")
    before = open(f"{out}/kernels-isolated.csv").read()
    runner.main(["--out", out, "--minutes", "1"], Fake())
    assert open(f"{out}/kernels-isolated.csv").read() == before, "a part that is done was measured again"
    refuses("rows of another machine: its driver is 1.0, here it is 2.0", runner.main, ["--out", out],
            Fake({**FACTS, "driver": "2.0"}))
    refuses("no part 'bf61'", runner.main, ["--out", out, "bf61"], Fake())


def main(folder):
    check_plans()
    check_rows(folder)
    for part in plan.PARTS:
        few(part, 24)
    runner.main(["--plan"], Fake())
    check_runs(f"{folder}/rows")
    runner.main(["--out", f"{folder}/quick", "--quick", "vllm", "bf16"], Fake({**FACTS, "vllm": "0.12"}))
    assert statuses(f"{folder}/quick") == {"vllm": "partial", "bf16": "partial"}, statuses(f"{folder}/quick")
    runner.GRACE_S = 0.2
    runner.main(["--out", f"{folder}/hung", "copies=0.1"], Fake(hangs=True))
    hung = manifest.load(f"{folder}/hung")["parts"]["copies"]
    assert hung["status"] == "failed" and "it took too long" in hung["reason"], hung
    print("all well")


main(sys.argv[1])
