"""`anira train PRESET`: a training run."""

import ast
import dataclasses
import inspect
import itertools
import os
import signal
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from tyro.conf import arg

from anira.cli.output import say, tell
from anira.cli.parse import parse, side_by_side
from anira.config import Interrupted, UserError, command, to_dict

if TYPE_CHECKING:
    from anira.training import RunFolder, TrainConfig

SUMMARY = "Train a model; resume one that was stopped with --resume RUN."
_HELP = f"""\
usage: anira train PRESET [options]
       anira train --resume RUN

{SUMMARY}

PRESET is <task>-<variant>-<scale>: a task, a variant (anira-e, anira-o, fixed, unshared, or a policy of
yours) and a scale (smoke: seconds; cpu: minutes on two cores; paper: the paper's table, for a GPU).

On text: text-<variant>-<smoke|cpu> (a small model from scratch), gsm-<variant> (the paper's fine-tuning)
and retrofit-huginn (how its base model was made), with --data DIR; the last two with --init-from MODEL.

options of a preset: anira train mano-anira-o-cpu --help"""
_DERIVED = ("num_key_value_heads", "freeze")  # follow from other options of the model, which may be given here


@dataclass(frozen=True, kw_only=True)
class LoopOptions:
    """What else gets the metrics, and what stops a run."""

    tracker: tuple[Literal["tensorboard", "trackio", "wandb"], ...] = ()
    """Where metrics go besides metrics.jsonl."""
    non_finite: Literal["stop", "skip"] = "stop"
    """A loss or gradient that is not finite stops the run, or the step is left out and counted in metrics.jsonl."""


@dataclass(frozen=True, kw_only=True)
class TrainOptions(LoopOptions):
    """Where the run goes, and what else gets its metrics."""

    out: Annotated[Path, arg(metavar="DIR")] = Path("runs")
    """Folder of all runs; this one goes to DIR/<preset>/<hash8>-s<seed>."""
    compile: Literal["auto", "on", "off"] = "auto"
    """auto: where there is a C++ compiler and the run is long enough to pay for it."""


@dataclass(frozen=True, kw_only=True)
class ResumeOptions(LoopOptions):
    """Which run."""

    resume: Annotated[Path, arg(metavar="RUN")]
    """Folder of the run to go on with; its own configuration holds."""


def run(argv: list[str]) -> None:
    """Start or resume a run."""
    if not argv or argv[0] in ("-h", "--help"):
        say(_HELP)
    elif any(word.partition("=")[0] == "--resume" for word in argv):
        _resume(parse(ResumeOptions, argv, prog="anira train", description=SUMMARY))
    elif argv[0].startswith("-"):
        example = "anira train PRESET, as in anira train mano-anira-o-cpu"
        raise UserError(f"the preset comes first: {example}, not {argv[0]}")
    else:
        _start(*_parse_preset(argv[0], argv[1:]))


def _parse_preset(name: str, argv: list[str]) -> tuple["TrainConfig", TrainOptions]:
    """Return the run and where it goes; the options of task, model and policy are nested: --task.modulus 7."""
    import torch

    from anira.models.policies import policy_class
    from anira.training.config import MODEL_FIELDS, TrainSettings
    from anira.training.presets import preset

    chosen = preset(name)
    base = chosen.resolved()
    data = _data_part(base)
    policy = dict(base.model["policy"])
    policy_name = policy.pop("name")
    settings = TrainSettings(**{field.name: getattr(base, field.name) for field in dataclasses.fields(TrainSettings)})
    shown = {key: value for key, value in base.model.items() if key in MODEL_FIELDS}
    model = _model_options({**shown, **{key: chosen.model.get(key) for key in _DERIVED}})
    flat = arg(name="")
    parts: list[Any] = [
        ("options", Annotated[TrainOptions, flat], TrainOptions()),
        ("settings", Annotated[TrainSettings, flat], settings),
        data,
        ("model", type(model), model),
        ("policy", policy_class(policy_name).Options, policy_class(policy_name).Options(**policy)),
    ]
    both = side_by_side("Run", parts)
    parsed: Any = parse(both, argv, prog=f"anira train {name}", description=SUMMARY)
    # The number of threads is part of the run: sums depend on it in the last digit.
    settings = dataclasses.replace(parsed.settings, threads=parsed.settings.threads or torch.get_num_threads())
    config = dataclasses.replace(
        base,
        **{field.name: getattr(settings, field.name) for field in dataclasses.fields(TrainSettings)},
        **({"text": parsed.text} if base.text else {"task_config": to_dict(parsed.task)}),
        model={**base.model, **to_dict(parsed.model), "policy": {"name": policy_name, **to_dict(parsed.policy)}},
        compile=_compiles(parsed.options.compile, policy_name, settings.steps),
    )
    if base.text is None:
        return config.resolved(), parsed.options
    from anira.training.model_folder import adopt_model

    changed = {key: value for key, value in to_dict(parsed.model).items() if value != getattr(model, key)}
    return adopt_model(config, changed), parsed.options


def _data_part(config: "TrainConfig") -> tuple[str, Any, Any]:
    """Return the options of what a run is trained on: a task's are nested, those of text stand beside the settings."""
    if config.text is not None:
        return "text", Annotated[type(config.text), arg(name="")], config.text
    task = config.make_task()
    return "task", type(task.config), task.config


def _model_options(values: dict[str, Any]) -> Any:
    """Return a dataclass instance with these values: each becomes an option with the model's type and text for it."""
    from anira.models import AniraConfig

    texts = _field_texts(AniraConfig)
    fields: list[Any] = [
        (key, Annotated[AniraConfig.__annotations__[key], arg(help=texts[key])], value)
        for key, value in values.items()
        if key != "policy"
    ]
    return side_by_side("Model", fields)()


@cache
def _field_texts(cls: type) -> dict[str, str]:
    """Return what stands below each field of a class: Python keeps it in the source only."""
    (definition,) = ast.parse(inspect.getsource(cls)).body
    assert isinstance(definition, ast.ClassDef)
    texts = {}
    for field, below in itertools.pairwise(definition.body):
        match field, below:
            case ast.AnnAssign(target=ast.Name(name)), ast.Expr(value=ast.Constant(value=str(text))):
                texts[name] = text
    return texts


def _compiles(wish: str, policy: str, steps: int) -> bool:
    """Resolve `--compile auto`, and say so where it means no."""
    from anira.training.overrides import compiler, pays_to_compile

    found = compiler() is not None
    if wish == "on" and not found:
        raise UserError("--compile on needs a C++ compiler (g++ or clang++), and none is found")
    if wish == "auto" and os.environ.get("ACCELERATE_USE_FSDP") == "true":
        return False  # every layer would be a graph of its own
    if wish == "auto" and not found:
        tell("no C++ compiler found: training without compiling, about half as fast")
    return wish == "on" or (wish == "auto" and found and pays_to_compile(policy, steps))


def _start(config: "TrainConfig", options: TrainOptions) -> None:
    from anira.training import RunFolder
    from anira.training.stages import check_init
    from anira.training.starting import check_start

    check_start(config, options.tracker)
    check_init(config, options.out)
    folder = RunFolder.for_config(options.out, config)
    new = [path for path in (folder.path, *folder.path.parents) if not path.exists()]
    with folder:
        folder.write_config(config)
        try:
            with _resumable(folder.path, options):
                _train(config, folder, options, resume=False)
        except UserError:
            folder.remove_unless_begun(new)
            raise
    _print_path(folder)


def start_or_resume(config: "TrainConfig", out: Path) -> Path:
    """Train a run to its end, from where an earlier call left it; return its folder. A finished run takes a moment."""
    from anira.training.starting import opened

    with opened(config, out) as (folder, begun):
        _train(config, folder, TrainOptions(), resume=begun)
    return folder.path


def train_preset(name: str, out: Path, changes: Mapping[str, Any]) -> Path:
    """Train a preset to its end, from where an earlier call or `anira train NAME --out OUT` left it.

    `changes` are settings of the run that are not the preset's, as in {"gamma_warmup_steps": 0}.
    """
    words = [word for key, value in changes.items() for word in (f"--{key.replace('_', '-')}", str(value))]
    config, _ = _parse_preset(name, words)
    return start_or_resume(config, out)


def _resume(options: ResumeOptions) -> None:
    from anira.training import RunFolder
    from anira.training.checkpoint import latest_checkpoint, step_of
    from anira.training.starting import check_start

    folder = RunFolder(options.resume)
    config = folder.read_config()
    check_start(config, options.tracker)
    last = latest_checkpoint(folder.path)
    if folder.main and last is not None and step_of(last) == config.steps:
        tell("this run was finished already: only its final evaluation is checked")
    with folder, _resumable(folder.path, options):
        _train(config, folder, options, resume=True)
    _print_path(folder)


@contextmanager
def _resumable(path: Path, options: LoopOptions) -> Iterator[None]:
    """Let an interrupt say how the run goes on."""
    try:
        yield
    except KeyboardInterrupt as stop:
        words = ["train", "--resume", str(path)]
        words += ["--non-finite", options.non_finite] if options.non_finite != "stop" else []
        words += ["--tracker", *options.tracker] if options.tracker else []
        raise Interrupted(getattr(stop, "number", signal.SIGINT), words) from None


def _print_path(folder: "RunFolder") -> None:
    """Say where the run is and what can be done with it; a run on text has no records to show."""
    if not folder.main:
        return
    if folder.read_config().text is None:
        following = command("anira", "report", folder.path, "--out", f"{folder.path.name}.html")
        tell(f"next: {following}")
    say(folder.path)


def _sizes(cells: Sequence[tuple[str, int]]) -> str:
    """Write subtasks with their knobs.

    >>> _sizes([("sort", 10), ("bfs", 7), ("bfs", 10)])
    'sort 10; bfs 7, 10'
    """
    names = dict.fromkeys(name for name, _ in cells)
    return "; ".join(f"{name} {', '.join(str(knob) for other, knob in cells if other == name)}" for name in names)


def _tell_about_data(config: "TrainConfig") -> None:
    """Say what of a task is not trained; of a run on text, which may take days, what it will cost."""
    if config.text is not None:
        from anira.training.run import process
        from anira.training.text_estimate import text_estimate_lines

        for line in text_estimate_lines(config, processes=process().num_processes):
            tell(line)
    elif left_out := config.make_task().left_out:
        tell(f"not trained, too long for --task.max-length: {_sizes(left_out)}")


def _train(config: "TrainConfig", folder: "RunFolder", options: LoopOptions, *, resume: bool) -> None:
    """Train; of several processes only the main one speaks."""
    from anira.cli.train_progress import TrainProgress
    from anira.training import train
    from anira.training.finite import NonFiniteError
    from anira.training.run import leave, process
    from anira.training.trackers import make_tracker

    path, plan = folder.path, options.non_finite
    if not folder.main:
        try:
            train(config, path, resume=resume, report=lambda line: None, trackers=[], non_finite=plan)
        except Interrupted as stop:
            raise SystemExit(stop.status) from None
        except NonFiniteError:
            raise SystemExit(2) from None
        leave()
        return
    steps = f"{config.steps} step{'s' * (config.steps > 1)}"
    processes = f", {process().num_processes} processes" if process().num_processes > 1 else ""
    tell(f"{config.preset}, seed {config.seed}, {steps}{processes}, in {path}")
    _tell_about_data(config)
    if config.compile:
        tell("compiling the first steps; this takes a minute or two")
    with TrainProgress(config.steps) as progress:
        made = [make_tracker(kind, path, config.preset) for kind in options.tracker]
        train(
            config,
            path,
            resume=resume,
            report=progress.line,
            trackers=made,
            non_finite=plan,
            on_step=progress.step,
        )
    leave()
