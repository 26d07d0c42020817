"""Released looped models, and stock decoders cut into prelude, core and coda, as models of this package.

One file per family says what its configuration means and how its tensors are called (`family.Family`); `loading` does
the rest for all of them, through transformers' own conversion of weights.
"""

from anira.models.pretrained.loading import load_released, save_released
from anira.models.pretrained.retrofit import Cut, retrofit

__all__ = ["Cut", "load_released", "retrofit", "save_released"]
