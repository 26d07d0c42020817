"""How to install what only some commands need."""

from pathlib import Path


def how_to_install(extra: str) -> str:
    """Return the command that adds an extra: in a clone with its pins, elsewhere to the wheel that was built there."""
    if Path("constraints.txt").is_file() and Path("pyproject.toml").is_file():
        return f"pip install -e '.[{extra}]' -c constraints.txt"
    return f"pip install 'FOLDER/anira-VERSION-py3-none-any.whl[{extra}]', the wheel that was installed"
