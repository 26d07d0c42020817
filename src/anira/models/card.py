"""The model card of a saved model: what a process without this package must do to load it."""

from os import PathLike
from pathlib import Path
from typing import Final

from anira.models.configuration import AniraConfig

_CARD: Final = """---
library_name: transformers
tags:
- anira
---

A transformer with a compute policy (`{policy}`), which chooses per token how many iterations of a core to run, at most
{max_depth}. Its classes are in the package `anira`, which must be imported before the Auto classes know them:

```python
import anira.models  # registers the model type "anira" with transformers
from transformers import AutoModelForCausalLM

model = AutoModelForCausalLM.from_pretrained("THIS FOLDER")
```
"""


def write_card(folder: str | PathLike[str], config: AniraConfig) -> None:
    """Write README.md, unless the folder has one."""
    path = Path(folder) / "README.md"
    if path.parent.is_dir() and not path.exists():
        path.write_text(_CARD.format(policy=config.policy["name"], max_depth=config.max_depth), encoding="utf-8")
