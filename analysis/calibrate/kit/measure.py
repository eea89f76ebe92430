#!/usr/bin/env python3
"""Measures a GPU for Orrery. `measure.py --help` has the options, README.md the twenty-minute recipe."""
import os
import sys

sys.dont_write_bytecode = True
os.environ.setdefault("CUDA_DEVICE_ORDER", "PCI_BUS_ID")  # as NVML counts them

from orrery_kit import runner


def main():
    try:
        from orrery_kit import gpu
    except ImportError as error:
        raise SystemExit(f"measure.py: {error}; the machine with the GPU needs PyTorch for CUDA and Triton") from None
    runner.main(sys.argv[1:], gpu.Backend())


if __name__ == "__main__":
    main()
