"""`anira bench NAME`: figures of speed on this machine."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final

from tyro.conf import arg

from anira.cli.output import say, say_json, tell
from anira.cli.parse import parse
from anira.config import UserError, nearest

_MOST: Final = {
    "repeats": 10_000,
    "rows": 1 << 20,
    "sentences": 1_000_000,
    "megabytes": 100_000,
}  # bounds against typing errors


@dataclass(frozen=True, kw_only=True)
class TasksOptions:
    """How long to measure."""

    rows: Annotated[int, arg(metavar="N")] = 8192
    """Rows that each generator makes in a repeat; a multiple of 4096."""
    repeats: Annotated[int, arg(metavar="R")] = 5
    """Repeats; the figures are medians."""
    json: bool = False
    """Print one JSON object for scripts."""


@dataclass(frozen=True, kw_only=True)
class ParserOptions:
    """How long to measure."""

    sentences: Annotated[int, arg(metavar="N")] = 2000
    """Sentences that are parsed."""
    repeats: Annotated[int, arg(metavar="R")] = 5
    """Repeats of the sampler, and parts that the sentences are cut into; the speeds are medians."""
    json: bool = False
    """Print one JSON object for scripts."""


@dataclass(frozen=True, kw_only=True)
class ModelOptions:
    """How long to measure."""

    repeats: Annotated[int, arg(metavar="R")] = 30
    """Repeats; the figures are medians."""
    json: bool = False
    """Print one JSON object for scripts."""


@dataclass(frozen=True, kw_only=True)
class TrainOptions:
    """How long to measure, and whether to compile."""

    repeats: Annotated[int, arg(metavar="R")] = 10
    """Repeats; the figures are medians."""
    compile: bool = False
    """Measure compiled steps too; compiling takes a few minutes."""
    against: Annotated[Path | None, arg(metavar="DIR")] = None
    """A checkout of older code, to train by in turns with this one."""
    json: bool = False
    """Print one JSON object for scripts."""


@dataclass(frozen=True, kw_only=True)
class TextOptions:
    """How much to read."""

    megabytes: Annotated[int, arg(metavar="N")] = 20
    """Size of the synthetic corpus, which lies in a temporary folder meanwhile."""
    json: bool = False
    """Print one JSON object for scripts."""


def run(argv: list[str]) -> None:
    """Run a benchmark, or list them."""
    if not argv or argv[0] in ("-h", "--help"):
        say(_list())
        return
    name, *rest = argv
    if name not in BENCHMARKS:
        raise UserError(f"unknown benchmark {name!r}: {nearest(name, BENCHMARKS)}")
    summary, measure, options_class = BENCHMARKS[name]
    options: Any = parse(options_class, rest, prog=f"anira bench {name}", description=f"Measure {summary}.")
    for option, most in _MOST.items():
        if not 1 <= getattr(options, option, 1) <= most:
            raise UserError(f"--{option} must be at least 1 and at most {most:,}, not {getattr(options, option)}")
    result, table = measure(options)
    if options.json:
        say_json(result, indent=2)
    else:
        say(table)


def _list() -> str:
    width = max(map(len, BENCHMARKS))
    lines = [f"  {name:{width}}  {summary}" for name, (summary, *_) in BENCHMARKS.items()]
    return "\n".join(
        ["usage: anira bench NAME [--json] [options]", "", "Measure speed on this machine. NAME is", *lines]
    )


def _report(text: str) -> None:
    tell(f"measuring {text}")


def _tasks(options: TasksOptions) -> tuple[dict[str, Any], str]:
    from anira.bench.tasks import bench_tasks

    result = bench_tasks(rows=options.rows, repeats=options.repeats, report=_report)
    return result, _tasks_table(result)


def _parser(options: ParserOptions) -> tuple[dict[str, Any], str]:
    from anira.bench.parser import bench_parser

    result = bench_parser(sentences=options.sentences, repeats=options.repeats, report=_report)
    return result, _parser_table(result)


def _decode(options: ModelOptions) -> tuple[dict[str, Any], str]:
    from anira.bench.decode import bench_decode

    return _models(lambda: bench_decode(repeats=options.repeats, report=_report), options.repeats)


def _prefill(options: ModelOptions) -> tuple[dict[str, Any], str]:
    from anira.bench.prefill import bench_prefill

    return _models(lambda: bench_prefill(repeats=options.repeats, report=_report), options.repeats)


def _train(options: TrainOptions) -> tuple[dict[str, Any], str]:
    from anira.bench.throughput import bench_throughput, source_folder
    from anira.bench.train import bench_train

    if options.against is not None:
        source_folder(options.against)  # refused before minutes of measuring

    def measure() -> list[dict[str, Any]]:
        steps = bench_train(repeats=options.repeats, compiled=options.compile, report=_report)
        return steps + bench_throughput(
            repeats=options.repeats, compiled=options.compile, against=options.against, report=_report
        )

    return _models(measure, options.repeats)


def _policies(options: ModelOptions) -> tuple[dict[str, Any], str]:
    from anira.bench.policies import bench_policies

    return _models(lambda: bench_policies(repeats=options.repeats, report=_report), options.repeats)


def _text(options: TextOptions) -> tuple[dict[str, Any], str]:
    from anira.bench.text import bench_text

    result = bench_text(megabytes=options.megabytes, report=_report)
    return result, _text_table(result)


def _models(measure: Callable[[], list[dict[str, Any]]], repeats: int) -> tuple[dict[str, Any], str]:
    """Run a benchmark of models with two threads, and lay its rows out for a person."""
    import torch

    from anira.config.machine import machine

    torch.set_num_threads(2)
    rows = measure()
    facts = {**machine(), "torch": torch.__version__, "threads": torch.get_num_threads(), "dtype": "float32"}
    head = f"{facts['cpu']}, torch {facts['torch']}, float32, 2 threads, medians of {repeats} repeats"
    return {"machine": facts, "repeats": repeats, "results": rows}, "\n".join([head, *map(_row_text, rows)])


def _row_text(row: dict[str, Any]) -> str:
    lines = ["", row["what"]]
    for name, value in row.items():
        if name != "what":
            text = f"{value:.4g}" if isinstance(value, float) else {True: "yes", False: "NO"}.get(value, str(value))
            lines.append(f"  {name.replace('_', ' '):28} {text}")
    return "\n".join(lines)


def _tasks_table(result: dict[str, Any]) -> str:
    facts = result["machine"]
    lines = [
        f"{facts['cpu']}, Python {facts['python']}, numpy {facts['numpy']}, one thread, CPU time",
        f"medians of {result['repeats']} repeats",
        "",
        "task     instances/s      tokens/s   plain instances/s   ratio   bar",
    ]
    for speed in result["tasks"]:
        lines.append(
            f"{speed['task']:6} {speed['instances_per_second']:13,.0f} {speed['tokens_per_second']:13,.0f}"
            f" {speed['plain_instances_per_second']:19,.0f} {speed['ratio']:7.1f} {speed['bar']:5.0f}  {_met(speed)}"
        )
    lines += ["", "clrs                           size   instances/s      tokens/s    bar"]
    for speed in result["clrs"]:
        lines.append(
            f"{speed['what']:29} {speed['size'] or 'all':>5} {speed['instances_per_second']:13,.0f}"
            f" {speed['tokens_per_second']:13,.0f} {speed['bar']:6,.0f}  {_met(speed)}"
        )
    lines += ["", "command           seconds   aim"]
    for start in result["startup"]:
        lines.append(f"{start['command']:16} {start['seconds']:8.2f} {start['aim']:5.1f}  {_met(start)}")
    return "\n".join(lines)


def _parser_table(result: dict[str, Any]) -> str:
    facts = result["machine"]
    lines = [
        f"{facts['cpu']}, Python {facts['python']}, numpy {facts['numpy']}, one thread, CPU time",
        f"{result['sentences']} sentences of {result['tokens']:,} tokens, {result['repeats']} repeats",
        "",
    ]
    width = max(len(figure["what"]) for figure in result["figures"])
    for figure in result["figures"]:
        bar = f"{'at least' if figure['least'] else 'at most'} {figure['bar']:,g}"
        value = f"{figure['value']:,.0f}" if figure["value"] > 100 else f"{figure['value']:.2g}"
        lines.append(f"{figure['what']:{width}}  {value:>8} {figure['unit']:12} {bar:16}  {_met(figure)}")
    return "\n".join(lines)


def _text_table(result: dict[str, Any]) -> str:
    facts = result["machine"]
    lines = [f"{facts['cpu']}, Python {facts['python']}, one thread, {facts['date']}", ""]
    lines.append("                                      MB   MB/CPU s   tokens/CPU s   CPU s   peak MB   before")
    for one in result["figures"]:
        lines.append(
            f"{one['what']:33} {one['bytes'] / 1e6:6,.0f} {one['megabytes_per_cpu_second']:10,.1f}"
            f" {one['tokens_per_cpu_second']:14,.0f} {one['cpu_seconds']:7,.0f} {one['peak_bytes'] / 1e6:9,.0f}"
            f" {one['peak_bytes_before'] / 1e6:8,.0f}"
        )
    return "\n".join(
        [*lines, f"overlap filter                    {result['filter']['megabytes_per_cpu_second']:17,.1f}"]
    )


def _met(figure: dict[str, Any]) -> str:
    return "met" if figure["met"] else "NOT met"


Measure = Callable[[Any], tuple[dict[str, Any], str]]
BENCHMARKS: Final[dict[str, tuple[str, Measure, type]]] = {
    "tasks": ("the generators of the tasks beside plain ones, and the start of the command line", _tasks, TasksOptions),
    "parser": ("the parser and the sampler of LANO beside their bars", _parser, ParserOptions),
    "decode": ("a decoding step against depth, beside stock Llama against layers", _decode, ModelOptions),
    "prefill": ("reading a prompt against depth, beside stock Llama against layers", _prefill, ModelOptions),
    "train": (
        "training, beside stock Llama, a matrix product and older code",
        _train,
        TrainOptions,
    ),
    "text": ("reading, tokenising and packing of a synthetic corpus of text", _text, TextOptions),
    "policies": ("a training step of every policy, beside fixed depth", _policies, ModelOptions),
}
"""Name -> (summary, what measures it and lays it out, its options)."""
