"""Which number format a device can really compute in, found out without dying of it.

On some CPUs the matrix library picks bfloat16 kernels whose instructions the machine does not allow, and the process
is killed. So the question is put to a child process first.
"""

import subprocess
import sys
from functools import cache
from typing import Literal

import torch

from anira.config import UserError

Precision = Literal["float32", "bfloat16"]

_TRIAL = """
import torch
layer = torch.nn.Linear(256, 256).bfloat16()
layer(torch.randn(64, 256).bfloat16()).sum().backward()
"""


@cache
def cpu_runs_bfloat16() -> bool:
    """Say whether a bfloat16 matrix product, forwards and backwards, survives on this CPU."""
    trial = subprocess.run([sys.executable, "-c", _TRIAL], capture_output=True, timeout=120, check=False)
    return trial.returncode == 0


def choose_dtype(precision: Precision | None, device: torch.device) -> torch.dtype:
    """Return the format to compute in: by default float32 on a CPU and bfloat16 on CUDA.

    >>> choose_dtype(None, torch.device("cpu"))
    torch.float32
    """
    if precision is None:
        precision = "bfloat16" if device.type == "cuda" else "float32"
    if precision == "bfloat16" and device.type == "cpu" and not cpu_runs_bfloat16():
        raise UserError(
            "this CPU cannot compute in bfloat16 (a trial in a child process died): use float32, which is also faster "
            "here, or set ONEDNN_MAX_CPU_ISA=AVX512_CORE_BF16 and try again"
        )
    return torch.bfloat16 if precision == "bfloat16" else torch.float32
