"""What the host knows without asking the device: numbers in numpy arrays, and when looking at a tensor is free.

Who runs, which slots stand for whom and who sees whom is kept by the host. A decoding step then looks at the device
where a decision is made, and nowhere else.
"""

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

Numbers = NDArray[np.int64]
Flags = NDArray[np.bool_]


def on_device(numbers: NDArray[np.generic], device: torch.device) -> Tensor:
    """Return numbers of the host as a tensor; nobody waits for the copy."""
    return torch.from_numpy(np.ascontiguousarray(numbers)).to(device, non_blocking=True)


def looking_is_free(tensor: Tensor) -> bool:
    """Whether values can be looked at without waiting for them: in the host's own memory, outside a compiled graph."""
    return tensor.device.type == "cpu" and not torch.compiler.is_compiling()
