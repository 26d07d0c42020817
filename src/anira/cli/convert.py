"""`anira convert CHECKPOINT --out DIR`: a released looped model as one of ours, or back."""

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Literal

from tyro.conf import Positional, arg

from anira.cli.output import say
from anira.cli.parse import parse
from anira.cli.surgery import check_out, convert_dtype, say_model
from anira.config import UserError

SUMMARY = (
    "Convert a released looped model (Ouro, Huginn, Recurrent-Llama) into a model of this package, which runs on "
    "current transformers, in padded batches, with tokens that really stop. CHECKPOINT is a folder with config.json "
    "and safetensors, or a name on the Hugging Face hub. No code from the checkpoint is run."
)


@dataclass(frozen=True, kw_only=True)
class Options:
    """What is converted, and into what."""

    checkpoint: Positional[Annotated[str, arg(metavar="CHECKPOINT")]]
    """Folder, or owner/model on the hub."""
    out: Annotated[Path, arg(metavar="DIR")]
    """New folder for the converted model, with its tokenizer."""
    policy: Annotated[str | None, arg(metavar="NAME")] = None
    """Policy in place of the family's own, which is Ouro's gate, or else fixed; one with weights starts untrained."""
    dtype: Literal["float32", "bfloat16", "float16"] | None = None
    """Format of the weights; by default that of the file."""
    back: bool = False
    """The other way: CHECKPOINT is a converted model, and DIR gets the released one's layout."""


def run(argv: list[str]) -> None:
    """Convert and say what was made."""
    options = parse(Options, argv, prog="anira convert", description=SUMMARY)
    check_out(options.out)
    from anira.models.pretrained import load_released, save_released
    from anira.models.pretrained.folder import local_folder, read_json, save_beside_tokenizer

    source = local_folder(options.checkpoint)
    if options.back:
        if options.policy or options.dtype:
            raise UserError("--back saves a model as it is: leave out --policy and --dtype")
        if read_json(source / "config.json").get("model_type") != "anira":
            raise UserError(f"{source} is not a model of this package")
        from anira.models import AniraForCausalLM

        model = AniraForCausalLM.from_pretrained(source, local_files_only=True)
        save_beside_tokenizer(partial(save_released, model), options.out, source)
        say(f"{options.out}: in the layout of {(model.config.origin or {})['family']}")
        return
    model = load_released(source, policy=options.policy, dtype=convert_dtype(options.dtype))
    save_beside_tokenizer(model.save_pretrained, options.out, source)
    say_model(model, options.out)
