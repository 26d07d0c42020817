"""`anira gsm-symbolic MODEL --data DIR`: accuracy and depth on Main, P1 and P2."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Literal

from tyro.conf import Positional, arg

from anira.cli.output import say, say_json, tell
from anira.cli.parse import parse
from anira.cli.progress import progress
from anira.config.folder import check_name, inside
from anira.config.ranges import parse_integers

SUMMARY = (
    "Let a model answer GSM-Symbolic with the authors' prompt, greedily, and write the answers and the depth of every "
    "token as records. An interrupted call goes on where it stopped. The questions are not part of this package: "
    "--data is a folder with the published files, or apple/GSM-Symbolic for the hub."
)


@dataclass(frozen=True, kw_only=True)
class Options:
    """Which model, which questions, and how depth is chosen."""

    model: Positional[Annotated[str, arg(metavar="MODEL")]]
    """Folder or hub id of a causal language model with its tokenizer: ours, or any of transformers'."""
    data: Annotated[str, arg(metavar="DIR")]
    """Folder with main/test.jsonl, p1/... and p2/..., or generated_data/GSM_*.jsonl; or the data set's hub id."""
    splits: Annotated[str, arg(metavar="NAMES")] = "main,p1,p2"
    """Which splits."""
    out: Annotated[Path | None, arg(metavar="DIR", help_behavior_hint="(default: runs/gsm-symbolic/NAME)")] = None
    """Folder of the model's records; each evaluation is a folder in records/."""
    name: Annotated[str | None, arg(metavar="NAME", help_behavior_hint="(default: from MODEL)")] = None
    """What the model is called in records and on pages."""
    limit: Annotated[int | None, arg(metavar="N")] = None
    """Questions per split, for a trial: 100 are one from each template of Main."""
    batch_size: Annotated[int, arg(metavar="N")] = 16
    """Questions answered at a time."""
    max_new_tokens: Annotated[int, arg(metavar="N")] = 512
    """Tokens after which an answer is cut."""
    depth: Annotated[str | None, arg(metavar="D")] = None
    """Also force every token to depth D, or with 1:8 to each of them: the fixed-depth curve, the fair baseline."""
    select: Annotated[str | None, arg(metavar="RULE")] = None
    """How depth is chosen: a rule of the policy, such as mode, median, mean or quantile; by default its own."""
    threshold: Annotated[float | None, arg(metavar="T")] = None
    """Threshold of the rule."""
    shots: Annotated[Path | None, arg(metavar="FILE")] = None
    """JSON lines with question and target in place of gsm8k-cot's eight examples, which lm-eval brings along."""
    seed: Annotated[int, arg(metavar="S")] = 0
    """Seed that the model was trained with, for the records."""
    device: Annotated[str | None, arg(metavar="DEVICE")] = None
    """Such as cuda:1; by default a GPU where there is one."""
    precision: Literal["float32", "bfloat16"] | None = None
    """By default bfloat16 on a GPU and float32 on a CPU."""
    json: bool = False
    """Print the tidy table as JSON, one object per estimate."""


def run(argv: list[str]) -> None:
    """Answer, record, and show the table."""
    options = parse(Options, argv, prog="anira gsm-symbolic", description=SUMMARY)
    depths = [] if options.depth is None else sorted(set(parse_integers(options.depth, "depths")))
    from anira.evaluation import gsm_symbolic as gsm
    from anira.evaluation.gsm_symbolic.evaluate import make_labels
    from anira.training.checkpoint import without_bars

    names = ("limit", "batch_size", "max_new_tokens", "select", "threshold", "seed")
    config = gsm.GsmConfig(**{name: getattr(options, name) for name in names})
    problems = gsm.read_problems(options.data, [name.strip() for name in options.splits.split(",")])
    shots = gsm.read_shots(options.shots)
    with without_bars():
        loaded = gsm.load_model(options.model, device=options.device, precision=options.precision)
    loaded = replace(loaded, name=options.name or loaded.name)
    out = options.out or Path("runs") / "gsm-symbolic" / check_name(loaded.name.replace("/", "--"))
    wanted = {_name(options): config, **{f"depth-{depth}": gsm.at_depth(config, depth) for depth in depths}}
    for one in wanted.values():
        make_labels(loaded, one)  # what the model cannot do is refused before anything is answered
    total = sum(len(rows[: options.limit]) for rows in problems.by_split.values())
    with progress(total * len(wanted), "questions") as advance:
        for name, one in wanted.items():
            gsm.evaluate_gsm_symbolic(loaded, problems, shots, one, inside(out, "records", name), progress=advance)
    _show(out, options)


def _name(options: Options) -> str:
    """Name the evaluation by the policy's own choice: `final`, or by a rule that is not its default."""
    threshold = "" if options.threshold is None else f"t{options.threshold:g}"
    return "-".join(part for part in (options.select, threshold) if part) or "final"


def _show(out: Path, options: Options) -> None:
    from anira.paper.gsm_symbolic.measure import measured
    from anira.paper.gsm_symbolic.page import make_page
    from anira.site.tables import page_text

    found = measured([out])
    if options.json:
        say_json(found.runs.to_dicts())
    else:
        say(page_text(make_page(found)))
    tell(f"records: {out}")
