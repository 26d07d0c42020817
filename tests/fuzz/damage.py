"""Damages to a run folder, drawn from a seed: what disks, copies, editors and strangers do to files.

A damage changes the folder that it is given and nothing else. Some leave files whose check-sums are wrong; others write
the check-sums anew, as a stranger who knows the format would.
"""

import json
import os
import random
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
from tests.sealing_support import edit_table, plain

from anira.config.sealed import SEAL
from anira.config.strict import values_digest
from anira.training.checkpoint import write_manifest

NESTED = "nested 3,000 levels deep"
VALUES: tuple[Any, ...] = (
    *(None, True, False, "", "x", "../../outside/file", "/etc/hostname", "\ud800", "\x1b[31m", "x" * 10_000),
    *(0, -1, 7, 2**31, 2**63, 10**400, 1.5, -0.0, 1e308, float("nan"), float("-inf"), [], {}, [[]], {"a": {}}, NESTED),
)


@dataclass(frozen=True)
class Place:
    """What a damage may use: the folder to damage, another run's folder, files outside of both, and a generator."""

    run: Path
    other: Path
    outside: Path
    draw: random.Random

    def file(self, pattern: str = "**/*") -> Path:
        """Draw a file of the run."""
        return self.draw.choice([path for path in sorted(self.run.glob(pattern)) if path.is_file()])

    def folder(self) -> Path:
        """Draw a folder of the run: all records or checkpoints, or one of them."""
        return self.draw.choice([path for path in sorted(self.run.rglob("*")) if path.is_dir()])

    def twin(self, path: Path) -> Path:
        """Return what another run has in the same place, or something of it that is like it."""
        same = self.other / path.relative_to(self.run)
        alike = same.parent.iterdir() if path.is_dir() else self.other.rglob(f"*{path.suffix}")
        return same if same.exists() else min(alike)


Damage = Callable[[Place], str]
"""Damages a place, and says how."""


def flip(place: Place) -> str:
    """Change one bit."""
    path = place.file()
    content = bytearray(path.read_bytes() or b"\0")
    bit = place.draw.randrange(8 * len(content))
    content[bit // 8] ^= 1 << bit % 8
    path.write_bytes(content)
    return f"bit {bit} of {path.name} flipped"


def cut(place: Place) -> str:
    """Lose the end of a file."""
    path = place.file()
    kept = place.draw.randrange(max(1, path.stat().st_size))
    os.truncate(path, kept)
    return f"{path.name} cut to {kept} bytes"


def grow(place: Place) -> str:
    """Append to a file."""
    path = place.file()
    with path.open("ab") as file:
        file.write(place.draw.choice([b"\0", b" ", b"\n", b"{}", b"garbage" * 100, path.read_bytes()]))
    return f"{path.name} has something appended"


def scramble(place: Place) -> str:
    """Overwrite a stretch of a file."""
    path = place.file()
    content = bytearray(path.read_bytes())
    start = place.draw.randrange(max(1, len(content)))
    content[start : start + 64] = place.draw.randbytes(len(content[start : start + 64]))
    path.write_bytes(content)
    return f"bytes of {path.name} from {start} on are noise"


def lose(place: Place) -> str:
    """Lose a file or a folder."""
    path = place.draw.choice([place.file(), place.folder()])
    _remove(path)
    return f"{path.name} lost"


def take_file(place: Place) -> str:
    """Put another run's file in the place of a file."""
    path = place.file()
    shutil.copyfile(place.twin(path), path)
    return f"{path.name} is another run's"


def take_folder(place: Place) -> str:
    """Put another run's checkpoint or records in the place of the run's own."""
    path = place.folder()
    twin = place.twin(path)
    _remove(path)
    shutil.copytree(twin, path)
    return f"folder {path.name} is another run's"


def rename(place: Place) -> str:
    """Give a file or a folder another name."""
    path = place.draw.choice([place.file(), place.folder()])
    name = place.draw.choice([f"{path.name}.bak", f"old-{path.name}", "step-7", "step-20.bak", f".{path.name}.part"])
    if not path.with_name(name).exists():
        path.rename(path.with_name(name))
    return f"{path.name} renamed to {name}"


def duplicate(place: Place) -> str:
    """Copy a file or a folder under a name beside it."""
    path = place.draw.choice([place.file(), place.folder()])
    name = place.draw.choice([f"{path.name}.bak", f"{path.name} copy", "step-20.bak", "tokens-k009.parquet", "step-99"])
    target = path.with_name(name)
    if not target.exists():
        (shutil.copytree if path.is_dir() else shutil.copyfile)(path, target)
    return f"{path.name} copied to {name}"


def link(place: Place) -> str:
    """Put a link to a place outside in the place of a file or a folder."""
    path = place.draw.choice([place.file(), place.folder()])
    target = place.outside / f"{place.draw.randrange(10**9)}-{path.name}"
    how = place.draw.choice(["same", "same", "hard", "nothing", "outside"])
    if how == "hard" and path.is_file():
        shutil.copyfile(path, target)
        path.unlink()
        path.hardlink_to(target)
        return f"{path.name} is a hard link"
    if how == "same":
        (shutil.copytree if path.is_dir() else shutil.copyfile)(path, target)
    _remove(path)
    path.symlink_to(place.outside if how == "outside" else target)
    return f"{path.name} is a link to {how}"


def plant_link(place: Place) -> str:
    """Put a link where a command may want to write."""
    names = [".lock", "metrics.jsonl", "config.json.part", "records/drawn", "checkpoints/step-9", "tensorboard"]
    names += ["records/final/evaluation.part", "checkpoints/.step-8.part"]
    path = place.run / place.draw.choice(names)
    _remove(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to(place.outside / place.draw.choice(["mine", "nothing", "folder"]))
    return f"{path.name} planted as a link"


def other_kind(place: Place) -> str:
    """Put a folder, a pipe or a file where something else is expected."""
    path = place.draw.choice([place.file(), place.folder()])
    folder = path.is_dir()
    _remove(path)
    if folder:
        path.write_bytes(b"a file")
    elif place.draw.random() < 0.5:
        os.mkfifo(path)
    else:
        path.mkdir()
    return f"{path.name} is of another kind"


def stray(place: Place) -> str:
    """Put files beside the others that nobody lists."""
    folder = place.draw.choice([place.run, *(path for path in sorted(place.run.rglob("*")) if path.is_dir())])
    name, content = place.draw.choice(
        [
            ("adapter_config.json", b'{"peft_type": "LORA", "r": 4, "target_modules": ["q_proj"]}'),
            ("pytorch_model.bin", b"\x80\x04N."),
            ("model.safetensors.index.json", b'{"weight_map": {"lm_head.weight": "../x"}}'),
            ("instances-k004.parquet", b"PAR1"),
            ("tokens-k001.part", b"half"),
            ("notes.txt", b"mine"),
            ("generation_config.json.bak", b"{"),
        ]
    )
    (folder / name).write_bytes(content)
    return f"{name} put into {folder.name}"


def edit_text(place: Place) -> str:
    """Change a value in a JSON file, or a line of metrics, without its check-sum."""
    path = place.file("**/*.json*")
    lines = path.read_text().splitlines() if path.suffix == ".jsonl" else [path.read_text()]
    index = place.draw.randrange(len(lines))
    values = json.loads(lines[index])
    where = _change(values, place.draw)
    lines[index] = _text(values, None if path.suffix == ".jsonl" else 2)
    path.write_text("\n".join(lines) + "\n")
    return f"{where} of {path.name} edited"


def edit_sealed(place: Place) -> str:
    """Change a value in a JSON file, with a check-sum that fits."""
    path = place.draw.choice(
        [path for path in sorted(place.run.rglob("*.json")) if "sha256" in json.loads(path.read_text())]
    )
    values = plain(path)
    # Nothing can be held against what a run says about its origin, or about what was asked for: that is but shown.
    told = {name: values.pop(name) for name in ("n", "batch_size") if name in values}
    where = _change(values.get("config", values), place.draw)
    values |= told
    path.write_text(_text({**values, SEAL: values_digest(values)}))
    return f"{where} of {path.name} edited and sealed"


def edit_checkpoint(place: Place) -> str:
    """Change the state of the loop in a checkpoint, with a manifest that fits."""
    path = place.file("checkpoints/*/loop.json")
    values = json.loads(path.read_text())
    where = _change(values, place.draw)
    path.write_text(_text(values))
    write_manifest(path.parent)
    return f"{where} of {path.parent.name}/loop.json edited and listed"


def edit_rows(place: Place) -> str:
    """Change rows of a table, with a check-sum that fits."""
    path = place.file("records/*/*.parquet")
    name = place.draw.choice(CHECKED["tokens" if path.name.startswith("tokens") else "instances"])
    row = place.draw.randrange(len(pl.read_parquet(path)))
    how = place.draw.choice(["twice", "lost", "none", "value", "value", "value", "nan", "column", "empty", "list"])
    changes: dict[str, Callable[[pl.DataFrame], pl.DataFrame]] = {
        "twice": lambda table: pl.concat([table, table[row]]),
        "lost": lambda table: table.with_row_index("row").filter(pl.col("row") != row).drop("row"),
        "none": lambda table: _set(table, name, row, None),
        "value": lambda table: _set(table, name, row, place.draw.choice([-5, 0, 999, 12345])),
        "nan": lambda table: _set(table, name, row, float("nan")),
        "column": lambda table: table.drop(name, strict=False),
        "empty": lambda table: table[:0],
        "list": lambda table: table.with_columns(exit_probs=pl.lit([0.5])),
    }
    edit_table(path, changes[how])
    return f"{how} in row {row}, {name}, of {path.parent.name}/{path.name}"


def edit_lines(place: Place) -> str:
    """Lose, double or reverse lines of the metrics."""
    path = place.run / "metrics.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    at = place.draw.randrange(len(lines))
    changed = place.draw.choice([lines[:at] + lines[at + 1 :], lines[: at + 1] + lines[at:], lines[::-1], lines[:at]])
    path.write_bytes(b"".join(changed))
    return f"lines of metrics.jsonl changed at {at}"


CHECKED = {
    "tokens": ("exit_depth", "exit_depth", "executed", "expected_depth", "position", "instance_id", "knob"),
    "instances": ("instance_id", "num_tokens", "full_iterations", "knob", "step", "seed", "run_id"),
}
"""Columns in which a value that cannot be is told from one that can."""
DAMAGES: tuple[Damage, ...] = (
    *(flip, flip, flip, cut, cut, grow, scramble, lose, lose, take_file, take_file, take_folder, rename, duplicate),
    *(link, link, plant_link, other_kind, stray, edit_text, edit_text, edit_sealed, edit_sealed, edit_checkpoint),
    *(edit_rows, edit_rows, edit_rows, edit_lines),
)


def _text(values: Any, indent: int | None = None) -> str:
    """Return values as a careless tool writes them: with NaN, and as deep as you like."""
    return json.dumps(values, indent=indent).replace(f'"{NESTED}"', "[" * 3000 + "]" * 3000)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _set(table: pl.DataFrame, name: str, row: int, value: Any) -> pl.DataFrame:
    """Put a value in one cell, as far as the column's type can hold it."""
    if name not in table.columns:
        return table
    kind = table.schema[name]
    new = [[value]] if kind.is_nested() else pl.Series([value]).cast(kind, strict=False).to_list()
    values = [*table[name].to_list()[:row], *new, *table[name].to_list()[row + 1 :]]
    return table.with_columns(pl.Series(name, values, dtype=kind, strict=False))


def _change(values: Any, draw: random.Random) -> str:
    """Change, lose or add something at a random depth of plain values; say where."""
    where = []
    while isinstance(values, dict | list) and values:
        key = draw.choice(list(values) if isinstance(values, dict) else range(len(values)))
        where.append(str(key))
        inner = values[key]
        if not isinstance(inner, dict | list) or not inner or draw.random() < 0.2:
            break
        values = inner
    how = draw.random()
    if not values:
        return ".".join(where)
    if how < 0.15:
        del values[key]
    elif how < 0.25 and isinstance(values, dict):
        values["surprise"] = draw.choice(VALUES)
    else:
        values[key] = draw.choice(VALUES)
    return ".".join(where)
