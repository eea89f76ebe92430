"""Measures an NVIDIA GPU for Orrery: kernels of LLMs, collectives, copies, power, a short run of vLLM.

`plan`, `rows`, `manifest` and `runner` need Python only. All other modules need PyTorch; they run on the GPU."""
