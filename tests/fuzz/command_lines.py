"""Drawing command lines: every command, its real options, with values that are right, odd, or of another kind."""

import dataclasses
import types
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from tests.training_support import TINY_MODEL, TINY_WORDS

from anira.cli import (
    COMMANDS,
    analyze,
    calibrate,
    compare,
    convert,
    demo,
    evaluate,
    explore,
    export,
    generate,
    gsm_symbolic,
    import_clrs,
    publish,
    report,
    reproduce,
    retrofit,
    runs,
    serve,
    sweep,
)
from anira.cli import sample as sampling
from anira.cli import tasks as listing
from anira.cli import train as training
from anira.models.policies import policy_class
from anira.tasks import task_class, task_names
from anira.training.config import TrainSettings
from benchmarks.options import BENCHMARKS, ModelOptions

Option = tuple[str, Any]
"""A name as it is typed, and the type of its value."""

# Nothing that a machine could just do: a batch of 100,000 rows fits into 24 GB, and takes minutes.
INTEGERS = ["0", "-1", str(10**9), str(10**12), str(2**63), str(-(2**63)), "9" * 5000]
FLOATS = ["0", "-1", "-0.0", "nan", "inf", "-inf", "1e999", "1e30", "1e-300", str(2**63)]
TEXTS = [
    *("", " ", "..", ".", "-", "--", "a b", "a/b", "~", "/proc/nothing", "x" * 300, "x" * 5000, "{}"),
    *("\u00e9\u4e2d", "\u0663", "\u202e", "\x1b[31m", "\udcff", "\n", "run", "file", "folder", "nowhere", "nowhere/x"),
    *("out.html", "rows.jsonl", "rows.parquet", "final", "mano", "sort", "mode", "quantile", "<bos>", "+ 1 2"),
    *("None", "*", "[a-z]", "--json", "3:5", "5:3", "1,2,,3", "1:999999999999", "1.5", "0x10", "1_0", "true"),
]
ODD = [*INTEGERS, *FLOATS, *TEXTS]
# Valid, but a test cannot wait for them, or they need what this machine may not have.
ENDLESS = {
    "--steps": {str(10**9), str(10**12)},
    "--count": {str(10**9)},
    "--compile": {"on"},
    "--tracker": {"wandb", "trackio", "tensorboard"},
}
LONG = (
    "demo",
    "lm-eval",
    "serve",
    "explore",
    *(f"bench {name}" for name in BENCHMARKS),
)  # only with something that must be refused


def draw_line(draw: Random) -> list[str]:
    """Return the words of one command line."""
    command = draw.choice([*COMMANDS, *["train"] * 5, "sample", "export", "evaluate"])
    base, options = _START[command](draw)
    words = [*base]
    for name, kind in draw.sample(options, min(len(options), draw.choice([0, 1, 1, 2, 3]))):
        words += _spelled(draw, name, kind)
    if draw.random() < 0.15:
        words = _mangled(draw, words)
    if draw.random() < 0.05:
        words += ["--plugin", draw.choice(["json", "no_such_module", "a/b.py", "", *ODD])]
    return [*words, "--no-such-option"] if " ".join(words).startswith(LONG) else words


def _spelled(draw: Random, name: str, kind: Any) -> list[str]:
    """Return an option with a value: a usual one, an odd one of its kind, or anything."""
    if kind is bool:
        return [name] if draw.random() < 0.9 else [name, draw.choice(ODD)]
    values = [draw.choice(ODD)] if draw.random() < 0.1 else _values(draw, kind, odd=draw.random() < 0.6)
    values = [value for value in values if value not in ENDLESS.get(name, ())]
    if draw.random() < 0.1 and len(values) == 1:
        return [f"{name}={values[0]}"]
    return [name, *values]


def _values(draw: Random, kind: Any, *, odd: bool) -> list[str]:
    origin, args = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        return _values(draw, draw.choice([arg for arg in args if arg is not type(None)]), odd=odd)
    if origin is Literal:
        return [draw.choice(TEXTS) if odd else str(draw.choice(args))]
    if origin is tuple:
        count = draw.randrange(4) if Ellipsis in args else len(args)
        return [value for _ in range(count) for value in _values(draw, args[0], odd=odd)]
    if kind is int:
        return [draw.choice(INTEGERS if odd else ["1", "2", "3", "4", "5", "8", "23"])]
    if kind is float:
        return [draw.choice(FLOATS if odd else ["0.5", "0.01", "1.0", "2", "1e-3"])]
    return [draw.choice(TEXTS if odd else ["name", "out", "new.jsonl", "new.parquet", "new.html", "a b"])]


def _mangled(draw: Random, words: list[str]) -> list[str]:
    """Return words of which one is missing, doubled, moved, or another one."""
    words = [*words]
    place = draw.randrange(len(words))
    word = words.pop(place)
    how = draw.choice(["missing", "doubled", "moved", "other"])
    if how == "doubled":
        words[place:place] = [word, word]
    elif how == "moved":
        words.insert(draw.randrange(len(words) + 1), word)
    elif how == "other":
        words.insert(place, draw.choice(ODD))
    return words


def _options(cls: Any, prefix: str = "--") -> Iterator[Option]:
    hints = get_type_hints(cls)
    for field in dataclasses.fields(cls):
        kind = hints[field.name]
        if "Positional" not in str(field.type):
            yield f"{prefix}{field.name.replace('_', '-')}", kind


Start = tuple[list[str], list[Option]]


def _with_task(command: str, cls: Any, rest: list[str]) -> Any:
    def start(draw: Random) -> Start:
        task = draw.choice(task_names())
        return [command, task, *rest], [*_options(cls), *_options(task_class(task).Config)]

    return start


def _train(draw: Random) -> Start:
    if draw.random() < 0.15:
        return ["train", "--resume", draw.choice(["run", "run", *ODD])], list(_options(training.ResumeOptions))
    task, variant = draw.choice(task_names()), draw.choice(["anira-e", "anira-o", "fixed", "unshared"])
    policy = policy_class("fixed" if variant == "unshared" else variant).Options
    model = [
        (f"--model.{name.replace('_', '-')}", int) for name in (*TINY_MODEL, "num_prelude_layers", "num_coda_layers")
    ]
    model += [("--model.injection", str), ("--model.freeze", str), ("--model.initializer-range", float)]
    nested = [*_options(task_class(task).Config, "--task."), *model, *_options(policy, "--policy.")]
    words = [*TINY_WORDS, "--steps", "2", "--final-count", "2", "--eval-every", "9", "--compile", "off"]
    own = [*_options(training.TrainOptions), *_options(TrainSettings)]
    return ["train", f"{task}-{variant}-smoke", *words], own * 2 + nested


def _plain(words: list[str], cls: Any) -> Any:
    return lambda draw: (words, list(_options(cls)))


def _bench(draw: Random) -> Start:
    name = draw.choice([*BENCHMARKS, *ODD])
    cls = BENCHMARKS[name][1] if name in BENCHMARKS else ModelOptions
    return ["bench", name], list(_options(cls))


def _reproduce(draw: Random) -> Start:
    return ["reproduce", *draw.choice([[], ["nothing"], [draw.choice(ODD)]])], list(_options(reproduce.Options))


def _compare(draw: Random) -> Start:
    """Only what is refused before anything is trained: a comparison takes minutes."""
    options = [option for option in _options(compare.Options) if option[0] not in ("--task", "--policies", "--yes")]
    return ["compare", "--task", draw.choice(["nothing", "clrs", *ODD]), "--policies", "fixed"], options


def _gsm_symbolic(draw: Random) -> Start:
    """Only what is refused before a model is loaded: the folder has no questions, and names of the hub are asked."""
    options = [option for option in _options(gsm_symbolic.Options) if option[0] != "--data"]
    return ["gsm-symbolic", "run", "--data", "folder"], options


_SWEEP = [option for option in _options(sweep.Options) if option[0] != "--dry-run"]
_START: dict[str, Any] = {
    "tasks": _plain(["tasks"], listing.Options),
    "sample": _with_task("sample", sampling.Options, []),
    "export": _with_task("export", export.Options, ["--split", "eval", "-n", "3", "--out", "new.jsonl"]),
    "import": _plain(["import", "clrs", "file", "--out", "new.parquet"], import_clrs.Options),
    "train": _train,
    "sweep": lambda draw: (["sweep", draw.choice(["mano-fixed-smoke", "file", *ODD]), "--dry-run"], _SWEEP),
    "runs": _plain(["runs", "folder"], runs.Options),
    "evaluate": _plain(["evaluate", "run", "-n", "3"], evaluate.EvaluateOptions),
    "calibrate": _plain(["calibrate", "run", "-n", "3"], calibrate.Options),
    "generate": _plain(["generate", "run", "+ 1 2"], generate.GenerateOptions),
    "analyze": _plain(["analyze", "run"], analyze.Options),
    "report": _plain(["report", "run"], report.ReportOptions),
    "publish": _plain(["publish", "run", "--to", "new"], publish.Options),
    "reproduce": _reproduce,
    "compare": _compare,
    "convert": _plain(["convert", "folder", "--out", "new"], convert.Options),
    "retrofit": _plain(["retrofit", "folder", "--core", "0:1", "--out", "new"], retrofit.Options),
    "gsm-symbolic": _gsm_symbolic,
    "lm-eval": lambda draw: (["lm-eval", "run"], []),
    "serve": _plain(["serve", "folder"], serve.Options),
    "explore": _plain(["explore", "run"], explore.ExploreOptions),
    "bench": _bench,
    "demo": _plain(["demo"], demo.Options),
}


def tree(folder: Path) -> dict[Path, tuple[int, int]]:
    """Return all files below a folder with their size and time of change: equal if nothing was touched."""
    found = sorted(folder.rglob("*"))
    return {path: (path.lstat().st_size, path.lstat().st_mtime_ns) if path.is_file() else (0, 0) for path in found}
