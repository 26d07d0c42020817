"""`anira retrofit MODEL --core 6:12 --out DIR`: a stock decoder, cut into three, with a looped core."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from tyro.conf import Positional, arg

from anira.cli.parse import parse
from anira.cli.surgery import check_out, convert_dtype, say_model
from anira.config import UserError

SUMMARY = (
    "Cut a pretrained Llama, Qwen, Mistral or SmolLM into prelude, core and coda, and loop the core under a policy. "
    "Layers are counted from 0, and 6:12 are layers 6 to 11. Layers in no part are left out. With one iteration and "
    "nothing left out the result is the original to the last bit; train it to make use of more."
)


@dataclass(frozen=True, kw_only=True)
class Options:
    """What is cut, where, and what decides about depth."""

    model: Positional[Annotated[str, arg(metavar="MODEL")]]
    """Folder of a Hugging Face model, or owner/model on the hub."""
    core: Annotated[str, arg(metavar="A:B")]
    """Layers that are looped."""
    out: Annotated[Path, arg(metavar="DIR")]
    """New folder for the model, with its tokenizer."""
    prelude: Annotated[str | None, arg(metavar="A:B")] = None
    """Layers before the core; by default all that come before it. 0:0 is none."""
    coda: Annotated[str | None, arg(metavar="A:B")] = None
    """Layers after the core; by default all that come after it. 0:0 is none."""
    policy: Annotated[str, arg(metavar="NAME")] = "anira-o"
    """Policy that sets depth; its weights start untrained."""
    max_depth: Annotated[int, arg(metavar="D")] = 8
    """Most iterations that a token can get."""
    injection: Literal["concat-linear", "add", "none"] = "concat-linear"
    """How an iteration sees the prelude's output again."""
    dtype: Literal["float32", "bfloat16", "float16"] | None = None
    """Format of the weights; by default that of the file."""


def run(argv: list[str]) -> None:
    """Cut and say what was made."""
    options = parse(Options, argv, prog="anira retrofit", description=SUMMARY)
    core = layers(options.core, "--core")
    check_out(options.out)
    from anira.models.pretrained import Cut, retrofit
    from anira.models.pretrained.folder import local_folder, read_json, save_beside_tokenizer

    source = local_folder(options.model)
    last = read_json(source / "config.json").get("num_hidden_layers")
    if not isinstance(last, int):
        raise UserError(f"{source / 'config.json'} does not say num_hidden_layers")
    prelude = range(core.start) if options.prelude is None else layers(options.prelude, "--prelude")
    coda = range(core.stop, last) if options.coda is None else layers(options.coda, "--coda")
    model = retrofit(
        source,
        Cut(prelude, core, coda),
        max_depth=options.max_depth,
        policy=options.policy,
        injection=options.injection,
        dtype=convert_dtype(options.dtype),
    )
    save_beside_tokenizer(model.save_pretrained, options.out, source)
    say_model(model, options.out)


def layers(text: str, option: str) -> range:
    """Return a range of layers.

    >>> layers("6:12", "--core")
    range(6, 12)
    """
    first, colon, stop = text.partition(":")
    if not (colon and first.isdecimal() and stop.isdecimal() and len(text) < 12):
        raise UserError(f"{option} takes layers as FIRST:STOP, such as 6:12 for layers 6 to 11, not {text!r}")
    return range(int(first), int(stop))
