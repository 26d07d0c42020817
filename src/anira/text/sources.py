"""Where shards are: in a folder, or in a dataset of the Hugging Face hub, of which only what is needed is fetched.

The hub is read through its own file system: a row group is one range of one file there too, so a run that was stopped
goes on at its row without fetching what it has read. A dataset's page can be seen by anyone, its files only with
access: so the first row is read before a run begins.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO, Final, cast

from anira.config import UserError
from anira.text.config import TextConfig
from anira.text.shards import LinesShard, ParquetShard, Shard

HUB: Final = "hub:"
_KINDS: Final[dict[str, type[ParquetShard] | type[LinesShard]]] = {".parquet": ParquetShard, ".jsonl": LinesShard}


def open_shards(config: TextConfig) -> list[Shard]:
    """Return the shards of a folder or a hub dataset in the order of their names; a UserError says what is wrong.

    Of local files each is looked into, of the hub's only the first.
    """
    where = config.data
    if not where:
        raise UserError("there is no text to read: name a folder of .parquet or .jsonl files with --data")
    if where.startswith(HUB):
        return _checked(hub_shards(where.removeprefix(HUB), config), 1)
    return _checked(folder_shards(Path(where), config), None)


def folder_shards(root: Path, config: TextConfig) -> list[Shard]:
    """Return the shards in a folder, or the one that a file is."""
    folder = root / config.subset
    if not folder.exists():
        raise UserError(f"there is no {folder}: --data and --subset must name a folder or a file")
    files = [folder] if folder.is_file() else sorted(path for path in folder.rglob("*") if path.suffix in _KINDS)
    if not files:
        raise UserError(f"{folder} has no .parquet or .jsonl files")
    if files[0].suffix not in _KINDS:
        raise UserError(f"{files[0]} is neither .parquet nor .jsonl")
    return [_shard(str(file), file.stat().st_size, partial(file.open, "rb"), config) for file in files]


def hub_shards(repo: str, config: TextConfig, files: Any = None) -> list[Shard]:
    """Return the shards of a dataset on the hub; `files` is the file system to look in, the hub's own by default."""
    with hub_errors(f"dataset {repo!r}"):
        if files is None:
            from huggingface_hub import HfFileSystem

            files = HfFileSystem()
        root = str(PurePosixPath("datasets", repo, config.subset))
        found = files.find(root, detail=True)
        # A search by prefix would also find the files of a folder whose name begins alike.
        names = sorted(name for name in found if _below(name, root) and PurePosixPath(name).suffix in _KINDS)
        if not names:
            raise UserError(f"dataset {repo!r} has no .parquet or .jsonl files{_in(config.subset)}")
        return [_shard(name, int(found[name]["size"]), partial(_open, files, name), config) for name in names]


@contextmanager
def hub_errors(what: str) -> Iterator[None]:
    """Say in one line why the hub did not give something."""
    from huggingface_hub import errors

    try:
        yield
    except UserError:
        raise
    except errors.GatedRepoError as error:
        raise UserError(
            f"{what} is gated: accept its terms on its page, and log in here with `hf auth login`"
        ) from error
    except errors.RepositoryNotFoundError as error:
        raise UserError(f"{what} is not on the hub, or is private and needs `hf auth login`") from error
    except FileNotFoundError as error:
        raise UserError(f"{what} has no such files: {_first_line(error)}") from error
    except Exception as error:  # the classes of a failed connection belong to whatever library makes it
        raise UserError(f"{what} cannot be read from the hub: {_first_line(error)}") from error


def _open(files: Any, name: str) -> BinaryIO:
    with hub_errors(name):
        return cast(BinaryIO, files.open(name, "rb"))


def _shard(name: str, size: int, opener: Any, config: TextConfig) -> Shard:
    kind = _KINDS[PurePosixPath(name).suffix]
    return kind(name, size, opener, column=config.column, longest=config.longest)


def _checked(shards: list[Shard], count: int | None) -> list[Shard]:
    """Read the first row of shards: what has none, or cannot be read, is found before a run begins."""
    for shard in shards[:count]:
        with hub_errors(shard.name):
            if next(shard.rows(), None) is None:
                raise UserError(f"{shard.name} is empty: remove it")
    return shards


def fingerprint(shards: Sequence[Shard]) -> list[list[Any]]:
    """Return what tells whether shards are those that a run began with: their names in the folder, and sizes."""
    return [[PurePosixPath(shard.name).name, shard.size] for shard in shards]


def _below(name: str, root: str) -> bool:
    return f"/{name.lstrip('/')}".startswith(f"/{root}/")


def _in(subset: str) -> str:
    return f" in {subset}/" if subset else ""


def _first_line(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0]
