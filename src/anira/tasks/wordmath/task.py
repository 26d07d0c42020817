"""Word problems: a short story with one operation per clause, and an answer in the form of GSM (docs/tasks.md).

The row of a story with two clauses; its answer is supervised, <eos> included:

    <bos> Ana has 5 apples . Then she finds 3 apples . She gives half to a friend . How many apples does Ana have ?
    <ans> 5 + 3 = 8 . 8 / 2 = 4 . #### 4 <eos>

    token            5  +  3  =  8  .  8  /  2  =  4  .  ####  4  <eos>
    clause_needed    0  1  1  .  1  .  1  2  2  .  2  .   .    2    .
    operations_left  2  2  2  2  2  1  1  1  1  1  1  0   0    0    0
    lookups          1  1  1  0  0  0  0  1  1  0  0  0   0    0    0
    work             0  0  0  0  1  0  0  0  0  0  1  0   0    0    0
"""

from dataclasses import dataclass
from typing import Final, Literal, NamedTuple, get_args

import numpy as np

from anira.config import UserError, nearest
from anira.tasks.base import IGNORE, BlockTask, Floats, Instance, Ints, Knob, Probe, Rows, question_ids
from anira.tasks.vocab import ANSWER
from anira.tasks.wordmath.answer import Written, write_answer
from anira.tasks.wordmath.reading import Problem, parse
from anira.tasks.wordmath.sentences import FINAL, WORDINGS, make_vocab
from anira.tasks.wordmath.stories import MAX_CLAUSES, MOST, clause_law, draw_stories, value_law
from anira.tasks.wordmath.telling import Style, tell

Answer = Literal["steps", "final"]
StoryKind = Literal["events", "comparisons", "both"]
_COMPARISON_SHARE: Final = {"events": 0.0, "comparisons": 1.0, "both": 0.5}
_LARGEST_LIMIT: Final = 1000
_MOST_ASIDES: Final = 10


@dataclass(frozen=True, kw_only=True)
class WordmathConfig:
    """How long the stories are, what they are about, and how much of the work the answer shows."""

    clauses: tuple[int, ...] = (1, 2, 3, 4)
    """Numbers of clauses of training rows, ascending; all equally often."""
    answer: Answer = "steps"
    """steps: every operation is written down before the last number; final: only that number."""
    story: StoryKind = "events"
    """events: things happen to one person, in the order of the steps; comparisons: people are compared, in any order;
    both: half of the stories each."""
    distractors: int = 0
    """Sentences in each story that have a number and change nothing."""
    held_out_wording: bool = False
    """Keep the last of the four wordings of every sentence from the training mixture; rows of a fixed knob have all."""
    limit: int = 20
    """Largest number in a story or an answer; each number is one token."""

    def __post_init__(self) -> None:
        for name, known in (("answer", get_args(Answer)), ("story", get_args(StoryKind))):
            if getattr(self, name) not in known:
                raise UserError(f"unknown {name} {getattr(self, name)!r}: {nearest(getattr(self, name), known)}")
        sizes = self.clauses
        if not sizes or list(sizes) != sorted(set(sizes)) or not 1 <= sizes[0] <= sizes[-1] <= MAX_CLAUSES:
            given = " ".join(map(str, sizes)) or "none"
            raise UserError(f"clauses must be distinct, ascending, and between 1 and {MAX_CLAUSES}, not {given}")
        if not 0 <= self.distractors <= _MOST_ASIDES:
            raise UserError(f"distractors must be between 0 and {_MOST_ASIDES}, not {self.distractors}")
        if not MOST < self.limit <= _LARGEST_LIMIT:
            raise UserError(f"limit must be between {MOST + 1} and {_LARGEST_LIMIT}, not {self.limit}")


class Baselines(NamedTuple):
    """How often the last number is right if it is guessed without working it out."""

    majority: float
    """Always the commonest number."""
    last_clause: float
    """The commonest number for the operation and the amount of the last clause."""


class Wordmath(BlockTask):
    """`<bos> story question <ans> steps #### number <eos>`; all behind <ans> is supervised."""

    name = "wordmath"
    summary = "a word problem, worked out step by step"
    Config = WordmathConfig
    config: WordmathConfig
    probe_specs = (
        Probe(name="clause_read", anchor="input", meaning="clause that the token belongs to; 0 in the opening"),
        Probe(name="operations_told", anchor="input", meaning="clauses up to the token, its own included"),
        Probe(name="value_read", anchor="input", meaning="number that a clause leads to, at its end, if known by then"),
        Probe(name="clause_needed", anchor="target", meaning="last clause that the token follows from; 0: the opening"),
        Probe(name="operations_left", anchor="target", meaning="operations with no result before the token"),
        Probe(name="lookups", anchor="target", meaning="sentences of the story to find for the token"),
        Probe(name="work", anchor="target", meaning="operations to carry out for the token itself"),
    )

    def __init__(self, config: WordmathConfig | None = None) -> None:
        super().__init__(config)
        self.vocab = make_vocab(self.config.limit)
        self.knob = Knob(
            name="C",
            meaning="clauses of the story",
            cost="C operations",
            seen=tuple(self.config.clauses),
            minimum=1,
            maximum=MAX_CLAUSES,
        )

    def generate(self, rng: np.random.Generator, index: Ints, knob: int | None) -> Rows:
        """Draw sizes, then numbers and people clause by clause, and tell all stories at once."""
        config, seen = self.config, np.array(self.config.clauses)
        sizes = seen[rng.integers(0, len(seen), size=len(index))] if knob is None else np.full(len(index), knob)
        stories = draw_stories(rng, sizes, limit=config.limit, comparison_share=_COMPARISON_SHARE[config.story])
        style = Style(
            steps=config.answer == "steps",
            wordings=WORDINGS - (config.held_out_wording and knob is None),
            asides=config.distractors,
        )
        return tell(rng, stories, style, limit=config.limit)

    def read(self, question: str) -> Rows:
        """Return the row of a problem typed by hand, in the sentences that `anira sample wordmath` shows.

        Both kinds of story are read, with distractors or without, whatever the training rows are.
        """
        ids = question_ids(self.vocab, question, end=ANSWER)
        problem = self._problem(ids)
        self.knob.check(len(problem.steps))
        answer = [self.vocab.id(one.word) for one in self._answer(problem)]
        labels = [*[IGNORE] * len(ids), *answer]
        whole = np.array([ids + answer], dtype=np.int32)
        size = np.array([len(problem.steps)])
        return Rows(whole, np.array([labels], dtype=np.int32), np.array([whole.shape[1]]), size)

    def instance(self, rows: Rows, i: int) -> Instance:
        """Show the calculation in one line."""
        ids, start = rows.ids(i), rows.answer_positions(i)[0]
        problem = self._problem(ids[:start])
        calculation = " ".join(f"{step.sign} {step.right}" for step in problem.steps)
        return Instance(
            question=self.vocab.decode(ids[1:start]),
            answer=self.vocab.decode(ids[start:]),
            picture=f"{problem.start} {calculation} = {problem.result} {problem.things}, from left to right",
            meta={
                "scalings": sum(step.sign in "*/" for step in problem.steps),
                "held_out_wordings": sum(told.sentence.wording == WORDINGS - 1 for told in problem.told),
            },
        )

    def probes(self, rows: Rows, i: int) -> dict[str, Floats]:
        """Read the story sentence by sentence, then write the answer word by word."""
        ids, start = rows.ids(i), rows.answer_positions(i)[0]
        problem = self._problem(ids[:start])
        out = {probe.name: np.full(len(ids), np.nan) for probe in self.probe_specs}
        clause_at = {place: clause for clause, place in enumerate(problem.order)}
        values = [problem.start, *(step.result for step in problem.steps)]
        for place, told in enumerate(problem.told):
            here = slice(1 + told.start, 1 + told.end)
            out["operations_told"][here] = sum(one.is_clause for one in problem.told[: place + 1])
            if place in clause_at:
                clause = clause_at[place]
                out["clause_read"][here] = clause
                if max(problem.order[: clause + 1]) == place:  # all that the number follows from has been told
                    out["value_read"][told.end] = values[clause]
        for position, one in enumerate(self._answer(problem), start):
            out["clause_needed"][position] = np.nan if one.clause is None else one.clause
            out["operations_left"][position] = one.left
            out["lookups"][position], out["work"][position] = one.lookups, one.work
        return out

    def lenient(self, rows: Rows, i: int, given: list[int]) -> bool:
        """Accept any way to the right number behind the first `####`; without steps, the right number."""
        mark, number = self.vocab.id(FINAL), rows.answer(i)[-2]
        if self.config.answer == "final":
            return given[:1] == [number]
        return mark in given[:-1] and given[given.index(mark) + 1] == number

    def law(self, size: int) -> Floats:
        """Return the exact probability of every number 0 .. limit as the result of so many clauses."""
        return value_law(size, self.config.limit)

    def baselines(self, size: int) -> Baselines:
        """Return how often guesses are right at a knob.

        >>> [round(share, 3) for share in Wordmath().baselines(4)]
        [0.084, 0.161]
        """
        before = value_law(size - 1, self.config.limit)
        after = np.einsum("v,voaw->oaw", before, clause_law(self.config.limit))
        return Baselines(float(after.sum(axis=(0, 1)).max()), float(after.max(axis=2).sum()))

    def _problem(self, ids: list[int]) -> Problem:
        """Understand <bos> story question <ans>."""
        return parse([self.vocab.tokens[token] for token in ids[1:-1]], limit=self.config.limit)

    def _answer(self, problem: Problem) -> list[Written]:
        return list(write_answer(problem, steps=self.config.answer == "steps"))
