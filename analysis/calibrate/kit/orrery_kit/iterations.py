"""Whole iterations of the model under CUDA graphs: decoding sequences, prompts, chunks on top of earlier tokens."""
import statistics
import time

import torch

from . import attention, plan, timing
from .model import Model
from .runner import Skip

PREFILL = {"cudnn": (attention.cudnn, "cuDNN prefill"), "flash2": (attention.flash2, "FlashAttention-2 prefill")}


class Iterations:
    def __init__(self, run):
        self.run, self.model = run, Model(plan.cache_tokens(run.facts))
        error = self.model.check()
        print(f"model: decoding lies {error:.1e} from the prompt", flush=True)
        if not error < 5e-2:
            raise Skip(f"the model is wrong: its logits when decoding lie {error:.1e} from those of the prompt")

    def measure(self, point):
        """At the clock that the load can hold, and before, after a pause, at the boost clock."""
        launch, source = self.prepare(point)
        graph = timing.capture(launch, 1)
        time.sleep(0.1)
        boost = statistics.median(timing.replay_seconds(self.run, graph, 3))
        boost_mhz = self.run.mhz
        timing.settle(graph, 0.3)
        times = timing.replay_seconds(self.run, graph, max(5, min(15, int(0.15 / boost))))
        del graph, launch
        torch.cuda.empty_cache()
        return [{"time_us": statistics.median(times) * 1e6, "boost_time_us": boost * 1e6, "runs": len(times),
                 "spread": (max(times) - min(times)) / statistics.median(times), "sm_mhz": self.run.mhz,
                 "boost_sm_mhz": boost_mhz, "source": source}]

    def prepare(self, point):
        sequences = point["sequences"]
        if point["phase"] == "decode":
            return self.model.decode(sequences, point["context"]), "own split-KV decode"
        kernel, source = PREFILL[point["_kernel"]]
        return self.model.prefill(sequences, point["tokens"] // sequences, point["past"], kernel), source
