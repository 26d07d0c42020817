"""`anira lm-eval WORDS`: lm-evaluation-harness, with our tasks and our model registered before it starts."""

import contextlib
import importlib.util
import io
import sys
from collections.abc import Callable

from anira.cli import take_options
from anira.cli.output import say
from anira.config import UserError, how_to_install, json_text

HELP = """\
usage: anira lm-eval WORDS ...

Run lm-evaluation-harness with the model `anira`, which records depth, and the tasks gsm_symbolic, gsm_symbolic_main,
gsm_symbolic_p1 and gsm_symbolic_p2. WORDS are those of lm-eval itself (see: anira lm-eval run --help), and

  --data DIR    folder with the published files of GSM-Symbolic, the same as --metadata '{"data": "DIR"}'
  --shots FILE  other examples for its prompt, as of anira gsm-symbolic

model_args of `anira` beside the harness's own: pretrained, select, threshold, depth, and records=DIR, a folder for a
table per task with the depth of each generated token.

example:
  anira lm-eval run --model anira --model_args pretrained=model,records=depths --tasks gsm_symbolic_main --data DIR
"""
_OWN = {"--data": "data", "--shots": "shots"}


def run(argv: list[str]) -> None:
    """Register what is ours, and let the harness do the rest."""
    if not argv or argv[0] in ("-h", "--help"):
        say(HELP.rstrip("\n"))
        return
    from anira.evaluation.harness import TASKS

    if importlib.util.find_spec("lm_eval") is None:
        raise UserError(f"lm-evaluation-harness is not installed: {how_to_install('text')}")
    words = translated(argv)
    if words[0] in ("run", "ls", "validate") and "--include_path" not in words:
        words += ["--include_path", str(TASKS)]
    import anira.evaluation.harness.model  # noqa: F401 (registers the model)

    act = _understood(words)
    act()


def _understood(words: list[str]) -> Callable[[], None]:
    """Return what the harness does for these words; what it does not understand becomes one line."""
    from lm_eval._cli import HarnessCLI
    from lm_eval.utils import setup_logging

    box, before = io.StringIO(), sys.argv
    sys.argv = ["lm-eval", *words]  # the harness reads its words from there
    try:
        with contextlib.redirect_stderr(box):
            setup_logging()
            parser = HarnessCLI()
            asked = parser.parse_args()
    except SystemExit as stop:
        if not stop.code:
            raise
        lines = box.getvalue().strip().splitlines()
        raise UserError(f"{lines[-1] if lines else 'lm-eval does not understand'} (see anira lm-eval --help)") from None
    finally:
        sys.argv = before
    return lambda: parser.execute(asked)


def translated(argv: list[str]) -> list[str]:
    """Return words for the harness: ours are handed on as its metadata, and `run` is what it does by default.

    >>> translated(["--tasks", "gsm_symbolic_main", "--data", "gsm"])
    ['run', '--tasks', 'gsm_symbolic_main', '--metadata', '{"data": "gsm"}']
    """
    words, own = take_options(argv if not argv[0].startswith("-") else ["run", *argv], _OWN)
    for option, value in own:
        if not value:
            raise UserError(f"{option} needs a value")
    given = {_OWN[option]: value for option, value in own}
    if given and "--metadata" in words:
        raise UserError(f"--metadata goes without {', '.join(_OWN)}: write them into it")
    return [*words, "--metadata", json_text(given)] if given else words
