"""The list of commands, from the command line itself."""

from anira.cli import COMMANDS
from docs.scripts.numbers import markdown_table


def commands() -> str:
    """Return every command with its summary as a Markdown table."""
    return markdown_table(("command", ""), [(f"`anira {name}`", words) for name, (_, words) in COMMANDS.items()])
