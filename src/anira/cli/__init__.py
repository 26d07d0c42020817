"""The command line: `anira COMMAND ...`, one small module per command, imported only when it runs.

This module is all that `anira --help` needs, so it imports nothing heavy and lists the commands without loading them.
"""

import contextlib
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from importlib import import_module
from types import FrameType
from typing import Final

from anira.cli.memory import keep_freed_memory
from anira.cli.output import flush, say, tell
from anira.config import SAME_SIGNAL, Interrupted, UserError, nearest
from anira.config import command as shell_command

COMMANDS: Final = {
    "tasks": ("anira.cli.tasks", "list the tasks: knob, range, cost law, vocabulary"),
    "sample": ("anira.cli.sample", "show instances of a task, with the reference solver's probes under the tokens"),
    "export": ("anira.cli.export", "write rows of a task to a jsonl or Parquet file"),
    "import": ("anira.cli.import_clrs", "read published rows of CLRS-Text into a Parquet file"),
    "train": ("anira.cli.train", "train a model, or go on with a run that was stopped"),
    "sweep": ("anira.cli.sweep", "train many runs: a plan of presets, seeds and grids, here, on Ray or on Slurm"),
    "runs": ("anira.cli.runs", "list runs and how they stand"),
    "evaluate": ("anira.cli.evaluate", "run a checkpoint over a knob grid and write records"),
    "calibrate": ("anira.cli.calibrate", "choose a threshold that keeps a promise about what early exits change"),
    "generate": ("anira.cli.generate", "answer a question, with the depth of every token"),
    "explore": ("anira.cli.explore", "ask runs questions in the browser, and watch what every token does"),
    "serve": ("anira.cli.serve", "an HTTP server: completions in OpenAI's style, with the depth of every token"),
    "analyze": ("anira.cli.analyze", "judge from records whether depth follows difficulty"),
    "report": ("anira.cli.report", "write a page that shows accuracy, depth and tokens of runs"),
    "publish": ("anira.cli.publish", "write a run as a model that others can load, to a folder or to the hub"),
    "compare": ("anira.cli.compare", "train and judge policies alike on one task, one leaderboard page"),
    "gsm-symbolic": ("anira.cli.gsm_symbolic", "accuracy and depth of a language model on GSM-Symbolic"),
    "lm-eval": ("anira.cli.lm_eval", "lm-evaluation-harness with our models, GSM-Symbolic and depth records"),
    "reproduce": ("anira.cli.reproduce", "make a table or figure of the paper, training what it needs"),
    "convert": ("anira.cli.convert", "a released looped model (Ouro, Huginn, Recurrent-Llama) as one of ours, or back"),
    "retrofit": ("anira.cli.retrofit", "cut a pretrained decoder into prelude, core and coda, and loop the core"),
    "bench": ("anira.cli.bench", "measure speed on this machine"),
    "demo": (
        "anira.cli.demo",
        "train ANIRA-O where depth is needed and where it is not, and make a page: minutes",
    ),
}
"""Name -> (module with a function `run(argv)`, summary)."""
PLUGINS: list[str] = []
"""Names of the modules that were imported for --plugin: processes that this one starts need them too."""
_GO_ON = (
    "sweep",
    "evaluate",
    "compare",
    "gsm-symbolic",
    "reproduce",
    "demo",
)  # the same words again go on from where they were stopped
_LONGEST_LINE: Final = 2000

_HELP = """\
usage: anira COMMAND [options]
       anira --version

Transformers that choose, token by token, how many iterations of a shared core to spend: tasks with a difficulty knob,
training, evaluation, and whether depth follows difficulty.

commands:
{commands}

every command takes
  --help           show what the command takes
  --plugin MODULE  import MODULE first, from the current folder or installed, so that the tasks and policies that it
                   registers are known

examples:
  anira sample mano --knob 5 --probes
  anira export brevo --split eval -n 1000 --out brevo.parquet
  anira train mano-anira-o-smoke
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return the exit status."""
    return guarded(lambda: _run(list(sys.argv[1:] if argv is None else argv)))


def guarded(act: Callable[[], None]) -> int:
    """Do what a process is for and return its exit status: 0, 2 for the user's error, 128 + number for a signal.

    Errors that the user can correct become one line on stderr; anything else is a bug and keeps its traceback.
    """
    try:
        with _termination_as_interrupt():
            try:
                act()
            finally:
                flush()  # here, so that a closed pipe is noticed while we can still be silent about it
    except UserError as error:
        return _complain(str(error))
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # what is still buffered goes nowhere
        return 141  # what a shell reports for a program that SIGPIPE ended
    except OSError as error:
        return _complain(f"{error.filename}: {error.strerror}" if error.filename else error.strerror or str(error))
    except Interrupted as stop:
        word = "terminated" if stop.number == signal.SIGTERM else "interrupted"
        again = f"; go on with: {shell_command('anira', *stop.again)}" if stop.again else ""
        return _complain(f"{word}{again}", status=stop.status)
    except KeyboardInterrupt:
        return _complain("interrupted", status=128 + signal.SIGINT)
    return 0


@contextlib.contextmanager
def _termination_as_interrupt() -> Iterator[None]:
    """Let SIGTERM, which schedulers and `timeout` send, end a command as Ctrl-C does, through every `finally`."""
    if threading.current_thread() is not threading.main_thread():  # there Python hears no signals
        yield
        return
    last = -SAME_SIGNAL

    def stop(number: int, frame: FrameType | None) -> None:
        nonlocal last
        last, before = time.monotonic(), last
        if last - before > SAME_SIGNAL:
            raise Interrupted(number)

    previous = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, previous)


def _run(argv: list[str]) -> None:
    for word in argv:
        if "\0" in word or word.encode(errors="replace").decode() != word:
            raise UserError(f"{word!r} is not text in UTF-8: rename the file, or retype the word")
    words, plugins = _take_plugins(argv)
    command = words[0] if words else "--help"
    if command in ("-h", "--help"):
        width = max(map(len, COMMANDS))
        listed = "\n".join(f"  {name:{width}}  {text}" for name, (_, text) in COMMANDS.items())
        say(_HELP.format(commands=listed).rstrip("\n"))
    elif command == "--version":
        from anira import __version__

        say(f"anira {__version__}")
    else:
        module, _ = _find(command)
        keep_freed_memory()
        import_plugins(plugins)
        try:
            import_module(module).run(words[1:])
        except KeyboardInterrupt as stop:
            found = stop if isinstance(stop, Interrupted) else Interrupted()
            again = [*found.again, *(word for name in plugins for word in ("--plugin", name))] if found.again else []
            raise Interrupted(found.number, argv if command in _GO_ON else again) from None


def _find(command: str) -> tuple[str, str]:
    if command.startswith("-"):
        raise UserError(f"the command comes before {command}: anira COMMAND [options] (see anira --help)")
    if command not in COMMANDS:
        raise UserError(f"unknown command {command!r}: {nearest(command, COMMANDS)}")
    return COMMANDS[command]


def _take_plugins(argv: list[str]) -> tuple[list[str], list[str]]:
    """Separate `--plugin MODULE`, which may stand anywhere, from the other words.

    >>> _take_plugins(["sample", "--plugin", "toy", "parity", "--plugin=more"])
    (['sample', 'parity'], ['toy', 'more'])
    """
    words, plugins = take_options(argv, ["--plugin"])
    if any(not name or name.startswith("-") for _, name in plugins):
        raise UserError("--plugin needs the name of a module, as in --plugin mytask")
    return words, [name for _, name in plugins]


def take_options(argv: Sequence[str], names: Collection[str]) -> tuple[list[str], list[tuple[str, str]]]:
    """Separate some options with their values, which may be empty where one is missing, from the other words."""
    words, found = [], []
    rest = iter(argv)
    for word in rest:
        option, equals, value = word.partition("=")
        if option in names:
            found.append((option, value if equals else next(rest, "")))
        else:
            words.append(word)
    return words, found


def import_plugins(names: Sequence[str]) -> None:
    """Import modules that register tasks and policies, from the current folder or installed."""
    if names:
        sys.path.insert(0, os.getcwd())  # noqa: PTH109 (sys.path holds strings)
    for name in names:
        if name.endswith(".py") or os.sep in name:
            raise UserError(
                f"--plugin takes the name of a module, not a path: {name!r}. A module of another folder is found with "
                "PYTHONPATH=THAT_FOLDER before the command"
            )
        try:
            import_module(name)
            PLUGINS.append(name)
        except UserError:
            raise
        except ModuleNotFoundError as error:
            where = "the current folder and installed packages were searched; others are with PYTHONPATH=FOLDER"
            raise UserError(f"cannot import plugin {name!r}: {error} ({where})") from error
        except (Exception, SystemExit) as error:
            raise UserError(f"cannot import plugin {name!r}: {type(error).__name__}: {error}") from error


def _complain(message: str, *, status: int = 2) -> int:
    """Say what is wrong in one line; a value that someone wrote a book into is cut."""
    line = " ".join(part for line in message.split("\n") if (part := line.strip()))
    short = line if len(line) <= _LONGEST_LINE else f"{line[:_LONGEST_LINE]} ..."
    with contextlib.suppress(UserError, OSError):  # nobody is left to tell
        tell(f"anira: {short}")
    return status
