"""Requests to vLLM: a model of Llama-3.1-8B's shape with random weights, arrivals at fixed times, fixed lengths. The
rows are a request-log that `orrery trace replay` reads."""
import asyncio
import json
import os
import random
import tempfile
import time

from .runner import Skip

CONFIG = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 4096, "intermediate_size": 14336,
          "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8, "head_dim": 128,
          "vocab_size": 128256, "max_position_embeddings": 8192, "rms_norm_eps": 1e-5, "rope_theta": 500000.0,
          "hidden_act": "silu", "tie_word_embeddings": False, "torch_dtype": "bfloat16", "bos_token_id": 128000,
          "eos_token_id": 128001}
WARM_REQUESTS = 8


class Requests:
    """All points are one run: the first call serves all requests, later ones return what was measured."""

    is_whole = True

    def __init__(self, facts):
        from . import plan
        self.points, self.times = plan.request_points(facts), None

    def measure(self, point):
        if self.times is None:
            self.times = asyncio.run(serve(self.points))
        first_s, last_s = self.times[point["id"]]
        n = point["output_tokens"]
        return [{"ttft_s": first_s, "e2e_s": last_s, "tpot_s": (last_s - first_s) / (n - 1)}]


def engine_of(folder):
    try:
        from vllm.engine.arg_utils import AsyncEngineArgs
        from vllm.v1.engine.async_llm import AsyncLLM
    except Exception as error:
        raise Skip(f"this vLLM has no AsyncLLM: {type(error).__name__}: {error}") from None
    with open(os.path.join(folder, "config.json"), "w") as file:
        json.dump(CONFIG, file)
    return AsyncLLM.from_engine_args(AsyncEngineArgs(
        model=folder, load_format="dummy", skip_tokenizer_init=True, dtype="bfloat16", max_model_len=4096,
        enable_prefix_caching=False, gpu_memory_utilization=0.9))


async def request(engine, name, prompt_tokens, output_tokens, draw):
    """Seconds from the call to the first and to the last token."""
    from vllm import SamplingParams
    params = SamplingParams(max_tokens=output_tokens, ignore_eos=True, detokenize=False, temperature=0.0)
    prompt = {"prompt_token_ids": [draw.randrange(1000, 120000) for _ in range(prompt_tokens)]}
    begin, first_s = time.perf_counter(), None
    async for output in engine.generate(prompt, params, request_id=name):
        if first_s is None and output.outputs and output.outputs[0].token_ids:
            first_s = time.perf_counter() - begin
    last_s = time.perf_counter() - begin
    if first_s is None:
        raise RuntimeError(f"request {name} made no token")
    return first_s, last_s


async def serve(points):
    """{id: (ttft, end to end)} of all requests, in seconds."""
    draw = random.Random(5)
    with tempfile.TemporaryDirectory() as folder:
        engine = engine_of(folder)
        try:
            for i in range(WARM_REQUESTS):
                await request(engine, f"warm-{i}", 512, 32, draw)
            begin = time.perf_counter()

            async def later(point):
                await asyncio.sleep(max(0.0, point["arrival_s"] - (time.perf_counter() - begin)))
                return await request(engine, str(point["id"]), point["prompt_tokens"], point["output_tokens"], draw)
            times = await asyncio.gather(*(later(point) for point in points))
        finally:
            engine.shutdown()
    return {point["id"]: pair for point, pair in zip(points, times)}
