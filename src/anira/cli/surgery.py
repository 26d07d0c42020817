"""What `convert` and `retrofit` share: the folder that they fill, and what they say about it."""

from pathlib import Path
from typing import TYPE_CHECKING

from anira.cli.output import say
from anira.config import UserError, command

if TYPE_CHECKING:
    import torch

    from anira.models import AniraForCausalLM


def check_out(out: Path) -> None:
    """Refuse a folder that holds something, before any work."""
    if out.is_symlink() or (out.exists() and (not out.is_dir() or any(out.iterdir()))):
        raise UserError(f"{out} exists already: name a new folder")


def convert_dtype(name: str | None) -> "torch.dtype | None":
    """Return torch's format of that name."""
    if name is None:
        return None
    import torch

    dtype: torch.dtype = getattr(torch, name)
    return dtype


def say_model(model: "AniraForCausalLM", out: Path) -> None:
    """Say what was made, and what can be done with it."""
    config = model.config
    parts = f"{config.num_prelude_layers} prelude, {config.num_core_layers} core, {config.num_coda_layers} coda layers"
    origin = config.origin or {}
    dropped = origin.get("layers", {}).get("left_out", [])
    say(f"{out}: {origin.get('family', 'anira')}, {model.num_parameters():,} parameters, {parts}")
    if dropped:
        say(f"left out: layers {', '.join(map(str, dropped))}")
    say(f"policy {config.policy['name']}, at most {config.max_depth} iterations")
    say(f"next: {command('python', '-c', _example(out))}")


def _example(out: Path) -> str:
    return f"from anira.models import AniraForCausalLM; model = AniraForCausalLM.from_pretrained({str(out)!r})"
