"""What `convert` and `retrofit` share: a new folder that gets a whole model with its tokenizer, or nothing."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from anira.cli.output import say
from anira.config import UserError, command
from anira.config.files import replacing_folder

if TYPE_CHECKING:
    import torch

    from anira.models import AniraForCausalLM

_TOKENIZER: Final = ("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "chat_template.jinja")


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


def save_model(
    model: "AniraForCausalLM", out: Path, source: Path, save: Callable[[Any, Path], None] | None = None
) -> None:
    """Write the model, and the tokenizer of where it came from."""
    with replacing_folder(out) as part:
        if save is None:
            model.save_pretrained(part)
        else:
            save(model, part)
        for name in _TOKENIZER:
            if (source / name).is_file():
                shutil.copyfile(source / name, part / name)


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
