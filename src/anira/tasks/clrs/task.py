r"""The CLRS task: configuration, the mixture of subtasks and sizes, serialisation by character.

The row of `sort` with the input 0.3 0.1 is

    <bos>sort:\nkey: [0.3 0.1]\npred:\n[0.1 0.3]<eos>

with one token a character. The question ends in a colon and a newline, so no other marker stands before the answer. The
answer's characters and <eos> are supervised.
"""

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from string import ascii_lowercase, digits
from typing import Final

import numpy as np

from anira.config import UserError, nearest
from anira.tasks.base import IGNORE, BlockTask, Floats, Instance, Ints, Knob, Probe, Rows
from anira.tasks.clrs.algorithms import MERGED, SUBTASKS, Algorithm, Subtask, find_subtask
from anira.tasks.clrs.fields import Style, Value
from anira.tasks.clrs.text import check_style, parse, write_answer, write_question
from anira.tasks.vocab import BOS, EOS, PAD, CharVocab, Vocab

SMALLEST: Final = 2
LARGEST: Final = 256  # a bound against typing errors, far beyond what fits into a model
CHARACTERS: Final = "\n (),-.:[]_|" + digits + "AP" + ascii_lowercase.removesuffix("z")
"""All 49 characters of upstream's rows, traces included."""
VOCAB: Final = CharVocab([PAD, BOS, EOS, *CHARACTERS])

_CODES: Final = bytes(VOCAB.id(chr(code)) if chr(code) in VOCAB else 0 for code in range(256))
_NUMBER: Final = re.compile(r"[-.\d]+")
_MEASURED = 24  # rows of each algorithm from which the lengths at a size are judged
_DEVIATIONS = 6.0  # rows longer than the mean by so many standard deviations do not occur


@dataclass(frozen=True, kw_only=True)
class ClrsConfig:
    """Which subtasks and sizes are trained, and how they are written."""

    tasks: tuple[str, ...] = tuple(SUBTASKS)
    """Subtasks, of the 23 that there are."""
    style: Style = "anira"
    """anira: the header names the subtask, zeros are `0`. upstream: it names one of the algorithms, zeros are `0.0`."""
    sizes: tuple[int, ...] = ()
    """Input sizes of training rows, for every subtask; none: those of the published training set, for each its own."""
    max_length: int | None = None
    """Leave sizes out of training whose rows may have more tokens than this."""

    def __post_init__(self) -> None:
        for name in self.tasks:
            if name not in SUBTASKS:
                whole = f"it is part of {MERGED[name].name!r}" if name in MERGED else nearest(name, SUBTASKS)
                raise UserError(f"unknown subtask {name!r}: {whole}")
        if not self.tasks or len(set(self.tasks)) < len(self.tasks):
            raise UserError("tasks must be distinct, and at least one")
        check_style(self.style)
        if len(set(self.sizes)) < len(self.sizes) or not all(SMALLEST <= size <= LARGEST for size in self.sizes):
            raise UserError(
                f"sizes must be distinct and from {SMALLEST} to {LARGEST}, not {', '.join(map(str, self.sizes))}"
            )


class Clrs(BlockTask):
    """`<bos>question answer<eos>`, one token a character; the answer and <eos> are supervised."""

    name = "clrs"
    summary = "the answers of 30 textbook algorithms, in 23 subtasks"
    Config = ClrsConfig
    config: ClrsConfig
    block = 256
    vocab: Vocab = VOCAB
    probe_specs: tuple[Probe, ...] = (
        Probe(name="output_index", anchor="target", meaning="numbers of the answer before this one"),
    )

    def __init__(self, config: ClrsConfig | None = None) -> None:
        super().__init__(config)
        self._subtasks = [SUBTASKS[name] for name in self.config.tasks]
        whole = [(subtask, size) for subtask in self._subtasks for size in sorted(self.config.sizes) or subtask.seen]
        self._cells = [cell for cell in whole if self._fits(*cell)]
        self.left_out = tuple((subtask.name, size) for subtask, size in whole if (subtask, size) not in self._cells)
        missing = set(self.config.tasks) - {subtask.name for subtask, _ in self._cells}
        if missing:
            raise UserError(
                f"no size of {', '.join(sorted(missing))} fits max_length {self.config.max_length}: raise it"
            )
        alone = len(self._subtasks) == 1
        self.subtask = self._subtasks[0].name if alone else ""
        cost = self._subtasks[0].cost if alone else "by subtask"
        self.knob = _knob(cost, tuple(sorted({size for _, size in self._cells})))

    def parts(self) -> "Sequence[Clrs]":
        """Return one task for every subtask, each with the sizes that it is trained on."""
        if self.subtask:
            return (self,)
        return [Clrs(replace(self.config, tasks=(name,))) for name in self.config.tasks]

    def generate(self, rng: np.random.Generator, index: Ints, knob: int | None) -> Rows:
        """Draw a subtask, a size and an algorithm for every row, then the instances of each kind together."""
        cells = self._cells if knob is None else [(subtask, knob) for subtask in self._subtasks]
        chosen = rng.integers(0, len(cells), size=len(index)).tolist()
        kinds: dict[tuple[Algorithm, int], list[int]] = defaultdict(list)
        for row, (cell, share) in enumerate(zip(chosen, rng.random(len(index)).tolist(), strict=True)):
            subtask, size = cells[cell]
            kinds[subtask.members[int(share * len(subtask.members))], size].append(row)
        texts = [("", "")] * len(index)
        for (algorithm, size), rows in kinds.items():
            for row, values in zip(rows, algorithm.draw(rng, len(rows), size), strict=True):
                texts[row] = self._text(algorithm, values)
        return encode_rows(texts, np.array([cells[cell][1] for cell in chosen]))

    def read(self, question: str) -> Rows:
        r"""Return the row of a question in either style, as in `sort:\nkey: [0.3 0.1]\npred:`.

        Newlines may be written as `\n`, and lines be indented. The row is written in the task's own style.
        """
        text = question.replace("\\n", "\n").removeprefix(BOS).strip()
        problem = parse("\n".join(line.strip() for line in text.split("\n")) + "\n")
        if problem.subtask not in self.config.tasks:
            raise UserError(f"{problem.subtask} is not among the subtasks chosen: {', '.join(self.config.tasks)}")
        self.knob.check(problem.size)
        return encode_rows([self._text(problem.algorithm, problem.values)], np.array([problem.size]))

    def instance(self, rows: Rows, i: int) -> Instance:
        """Show the text, and say what it asks for."""
        ids, start = rows.ids(i), rows.answer_positions(i)[0]
        question = self.vocab.decode(ids[1:start])
        subtask = find_subtask(question.partition(":")[0])
        return Instance(
            question=question,
            answer=self.vocab.decode(ids[start:-1]),
            picture=f"{subtask.name}: {subtask.meaning}",
            meta={"question_length": start - 1, "answer_length": len(ids) - 1 - start},
        )

    def probes(self, rows: Rows, i: int) -> dict[str, Floats]:
        """Number the numbers of the answer; brackets, blanks and <eos> have none."""
        ids, start = rows.ids(i), rows.answer_positions(i)[0]
        values = np.full(len(ids), np.nan)
        for number, match in enumerate(_NUMBER.finditer(self.vocab.decode(ids[start:-1]))):
            values[start + match.start() : start + match.end()] = number
        return {"output_index": values}

    def _text(self, algorithm: Algorithm, values: tuple[Value, ...]) -> tuple[str, str]:
        """Return question and answer; without the algorithm's name in the text, a subtask has one way to answer."""
        style = self.config.style
        answers = algorithm if style == "upstream" else find_subtask(algorithm.name).members[0]
        return write_question(algorithm, values, style), write_answer(answers, values, style)

    def _fits(self, subtask: Subtask, size: int) -> bool:
        """Say whether rows of this size stay within max_length, judged by a sample."""
        if self.config.max_length is None:
            return True
        rng = np.random.default_rng(0)
        drawn = [(member, values) for member in subtask.members for values in member.draw(rng, _MEASURED, size)]
        lengths = [len(question) + len(answer) + 2 for question, answer in (self._text(*one) for one in drawn)]
        return float(np.mean(lengths) + _DEVIATIONS * np.std(lengths)) <= self.config.max_length


def subtask_knob(name: str) -> Knob:
    """Return the knob of a subtask that is trained on the sizes of the published training set."""
    return _knob(SUBTASKS[name].cost, SUBTASKS[name].seen)


def _knob(cost: str, seen: tuple[int, ...]) -> Knob:
    return Knob(name="n", meaning="input size", cost=cost, seen=seen, minimum=SMALLEST, maximum=LARGEST)


def encode_rows(texts: Sequence[tuple[str, str]], sizes: Ints) -> Rows:
    """Return the rows of questions and answers, which hold no other characters than CHARACTERS."""
    lengths = np.array([len(question) + len(answer) + 2 for question, answer in texts])
    ids: Ints = np.zeros((len(texts), int(lengths.max())), dtype=np.int16)
    labels = np.full_like(ids, IGNORE)
    for row, (question, answer) in enumerate(texts):
        start, end = 1 + len(question), 1 + len(question) + len(answer)
        ids[row, 1:end] = np.frombuffer((question + answer).encode().translate(_CODES), dtype=np.uint8)
        ids[row, 0], ids[row, end] = VOCAB.id(BOS), VOCAB.id(EOS)
        labels[row, start : end + 1] = ids[row, start : end + 1]
    return Rows(ids, labels, lengths, sizes)
