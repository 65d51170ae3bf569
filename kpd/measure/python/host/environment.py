"""Says what a job's environment tells."""

from __future__ import annotations

import os


def on_gpu() -> bool:
    """Return whether kernels run on a GPU."""
    return bool(os.environ.get("CUDA_VISIBLE_DEVICES"))
