"""Questions and answers as text, and back.

    insertion_sort:                             the algorithm (upstream) or the subtask, here `sort` (anira)
    key: [0.548 0.715 0.602 0.544 0.423]        the inputs
    pred:                                       the names of the outputs
    [0.423 0.544 0.548 0.602 0.715]             the answer

An input size is told by the inputs alone. `pred` is upstream's name: the answer is the sorted values.
"""

from dataclasses import dataclass

from anira.config import UserError, nearest
from anira.tasks.clrs.algorithms import Algorithm, find_algorithm, find_subtask
from anira.tasks.clrs.fields import STYLES, Field, Style, Value, quoted


@dataclass(frozen=True)
class Problem:
    """A question that was read."""

    header: str
    """The algorithm or the subtask that the first line names."""
    algorithm: Algorithm
    """The one that answers."""
    values: tuple[Value, ...]
    size: int

    @property
    def subtask(self) -> str:
        """Return the name of the subtask."""
        return find_subtask(self.header).name


def solve(question: str, style: Style = "upstream") -> str:
    r"""Return the answer to a question, without newlines at its end.

    The header may name an algorithm or a subtask; the style says how the reals of an answer are written.

    >>> solve("quicksort:\nkey: [0.25 0.056 0.0]\npred:\n")
    '[0.0 0.056 0.25]'
    """
    check_style(style)
    problem = parse(question)
    return write_answer(problem.algorithm, problem.values, style)


def check_style(style: str) -> None:
    """Raise a UserError unless it is one of the two styles."""
    if style not in STYLES:
        raise UserError(f"unknown style {style!r}: {nearest(style, STYLES)}")


def write_question(algorithm: Algorithm, values: tuple[Value, ...], style: Style) -> str:
    """Return the question of an instance, up to the newline after which the answer begins."""
    header = algorithm.name if style == "upstream" else find_subtask(algorithm.name).name
    fields = zip(algorithm.inputs, values, strict=True)
    inputs = ", ".join([f"{field.name}: {field.write(value, style)}" for field, value in fields])
    return f"{header}:\n{inputs}\n{output_names(algorithm)}:\n"


def write_answer(algorithm: Algorithm, values: tuple[Value, ...], style: Style) -> str:
    """Solve an instance and return the answer's text."""
    outputs = zip(algorithm.outputs, algorithm.solve(*values), strict=True)
    return ", ".join([field.write(value, style) for field, value in outputs])


def read_answer(algorithm: Algorithm, text: str, size: int) -> tuple[Value, ...]:
    """Read an answer to a question of that size; one of another form is a UserError.

    >>> read_answer(find_algorithm("topological_sort"), "[0 0], 1", 2)
    ([0, 0], 1)
    """
    parts = text.rsplit(", ", len(algorithm.outputs) - 1) if len(algorithm.outputs) > 1 else [text]
    if len(parts) != len(algorithm.outputs):
        raise UserError(f"an answer of {algorithm.name} holds {output_names(algorithm)}, not {quoted(text)}")
    values = tuple(field.read(part) for field, part in zip(algorithm.outputs, parts, strict=True))
    for field, value in zip(algorithm.outputs, values, strict=True):
        _check_entries(field, value, size + algorithm.extra)
    return values


def output_names(algorithm: Algorithm) -> str:
    """Return the third line of a question without its colon.

    >>> output_names(find_algorithm("topological_sort"))
    'topo, topo_head'
    """
    return ", ".join(field.name for field in algorithm.outputs)


def parse(question: str) -> Problem:
    r"""Read a question of either style; what cannot be read or answered is a UserError.

    >>> parse("bfs:\ns: 0, A: [[0 1], [1 0]]\npi:\n").values
    (0, [[0, 1], [1, 0]])
    """
    header, inputs, names = question_lines(question)
    algorithm = find_algorithm(header)
    if names != output_names(algorithm):
        raise UserError(
            f"a question of {header} ends in the line '{output_names(algorithm)}:', not {quoted(f'{names}:')}"
        )
    values = tuple(_read_inputs(algorithm, inputs))
    return Problem(header, algorithm, values, _checked_size(algorithm, values))


def question_lines(question: str) -> tuple[str, str, str]:
    """Return header, inputs and output names of a question, without the colons at the end of lines."""
    lines = question.removesuffix("\n").split("\n")
    if len(lines) != 3 or not (lines[0].endswith(":") and lines[2].endswith(":")):
        raise UserError("a question has three lines: 'algorithm:', 'name: value, ...' and 'output names:'")
    return lines[0].removesuffix(":"), lines[1], lines[2].removesuffix(":")


def _read_inputs(algorithm: Algorithm, text: str) -> list[Value]:
    """Read `name: value, name: value`, where the names and their order are known."""
    pieces, rest = [], f", {text}"
    for field in algorithm.inputs:
        piece, found, rest = rest.partition(f", {field.name}: ")
        if not found:
            raise UserError(f"the inputs of {algorithm.name} are '{algorithm.reads}': {field.name} is missing")
        pieces.append(piece)
    if pieces[0]:
        raise UserError(f"the inputs of {algorithm.name} are '{algorithm.reads}', and nothing before them")
    return [field.read(piece) for field, piece in zip(algorithm.inputs, [*pieces[1:], rest], strict=True)]


def _checked_size(algorithm: Algorithm, values: tuple[Value, ...]) -> int:
    """Return the input size; raise a UserError if lists, matrices, nodes or weights do not go together."""
    size = algorithm.size(values)
    if size < 1:
        raise UserError(f"the input size is {size}: at least 1 is needed")
    entries = size + algorithm.extra
    for field, value in zip(algorithm.inputs, values, strict=True):
        if field.dims == 0 and not field.real and not 0 <= value < size:
            raise UserError(f"{field.name} is {value}, but the nodes are 0 to {size - 1}")
        _check_entries(field, value, entries)
        if field.dims == 2 and any(entry < 0 for row in value for entry in row):
            raise UserError(f"{field.name} must not be negative")
    return size


def _check_entries(field: Field, value: Value, entries: int) -> None:
    if field.dims and len(value) != entries:
        raise UserError(f"{field.name} has {len(value)} entries where {entries} belong")
    if field.dims == 2 and any(len(row) != entries for row in value):
        raise UserError(f"{field.name} must be a square matrix: it has {entries} rows, and not {entries} columns")
