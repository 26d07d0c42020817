"""Words: the product of the letters of a word over a finite group (laws, probes and baselines in docs/tasks.md).

The word 1 2 4 over S3, whose elements 0 .. 5 are 012, 021, 102, 120, 201, 210, in the two forms of the task. In the
dense form the product is asked for after every letter and is never an input: position t predicts what stands below
position t + 1.

    dense   token   <bos>  1   2   4  <eos>            final   token   <bos>  1   2   4  <ans>  0  <eos>
            label     .    .   1   3    0                      label     .    .   .   .    .    0    .
            t         .    1   2   3    .
            product   .    1   3   0    .      of the letters up to here
"""

from dataclasses import dataclass
from typing import Final, Literal, NamedTuple, get_args

import numpy as np

from anira.config import UserError, nearest
from anira.tasks.base import IGNORE, BlockTask, Floats, Instance, Ints, Knob, Probe, Rows
from anira.tasks.vocab import ANSWER, BOS, EOS, PAD, Vocab
from anira.tasks.words.groups import Group, GroupName, join, make_group

Form = Literal["dense", "final"]
Letters = Literal["all", "generators"]
_TAIL: Final = {"dense": 1, "final": 3}  # tokens behind a word: <eos>, or <ans> product <eos>
_LAG: Final = {"dense": 1, "final": 2}  # from a letter to the label of the product that it completes
_LARGEST = 1000  # letters; a bound against typing errors, far beyond what a model can be asked


@dataclass(frozen=True, kw_only=True)
class WordsConfig:
    """Which group, how long its words are, and where their products are asked for."""

    group: GroupName = "S3"
    """The group. Twins of equal size, the second one abelian: S3 and Z6, A4 and Z12, S4 and Z24, A5 and Z60, S5 and
    Z120."""
    min_letters: int = 1
    """Fewest letters in a training row."""
    max_letters: int = 10
    """Most letters in a training row; lengths are uniform."""
    form: Form = "dense"
    """dense: a training row asks for the product after every letter; final: only at the end, after <ans>."""
    letters: Letters = "all"
    """Letters are all elements of the group, or two that generate it."""

    def __post_init__(self) -> None:
        make_group(self.group)  # refuses an unknown one
        for name, known in (("form", get_args(Form)), ("letters", get_args(Letters))):
            if getattr(self, name) not in known:
                raise UserError(f"unknown {name} {getattr(self, name)!r}: {nearest(getattr(self, name), known)}")
        if not 1 <= self.min_letters <= self.max_letters <= _LARGEST:
            raise UserError(
                f"lengths must satisfy 1 <= min_letters <= max_letters <= {_LARGEST}, "
                f"not {self.min_letters}, {self.max_letters}"
            )


class Baselines(NamedTuple):
    """How often products are right that are guessed without multiplying."""

    majority: float
    """Always the commonest product."""
    shortcut: float
    """The commonest product with the right image in the abelianisation, which counting gives without any depth."""


_PROBES: Final = (
    Probe(name="t", anchor="input", meaning="letters up to here"),
    Probe(name="product", anchor="input", meaning="product of the letters up to here (a name, not a size)"),
    Probe(name="is_identity", anchor="input", meaning="1 where that product is the identity"),
    Probe(name="subgroup_size", anchor="input", meaning="elements of the subgroup that the letters generate"),
)
_COSET_PROBES: Final = (
    Probe(name="abelian_image", anchor="input", meaning="image of the product if all letters commuted"),
    Probe(name="abelian_rest", anchor="input", meaning="which element with that image the product is"),
)


class Words(BlockTask):
    """`<bos> letters <eos>` with a label after every letter, or `<bos> letters <ans> product <eos>`.

    A training row of the dense form asks for the products of all its prefixes; its `knob` is the length of the whole
    word. Rows with a fixed knob, and questions typed by hand, ask for the product of the whole word only. A model reads
    from left to right, so its answer after t letters of a longer word is its answer to the word of t letters: accuracy
    and depth by knob are those by place in a word.
    """

    name = "words"
    summary = "product of a word over a finite group"
    Config = WordsConfig
    config: WordsConfig

    def __init__(self, config: WordsConfig | None = None) -> None:
        super().__init__(config)
        self.group: Group = make_group(self.config.group)
        self.vocab = Vocab([PAD, BOS, EOS, ANSWER, *map(str, range(len(self.group)))])
        self._first = self.vocab.id("0")
        self.letters = tuple(range(len(self.group))) if self.config.letters == "all" else self.group.generators
        parts = 1 < len(self.group.commutators) < len(self.group)
        self.probe_specs = (*_PROBES, *_COSET_PROBES) if parts else _PROBES
        low = 1 if self.config.form == "dense" else self.config.min_letters
        self.knob = Knob(
            name="T",
            meaning="letters up to the product that is asked for",
            cost="T products",
            seen=tuple(range(low, self.config.max_letters + 1)),
            minimum=1,
            maximum=_LARGEST,
        )

    def generate(self, rng: np.random.Generator, index: Ints, knob: int | None) -> Rows:
        """Draw lengths, then letters, and multiply letter by letter for all rows at once.

        Numbers of letters are drawn, not elements: twins have the same words.
        """
        low, high = self.config.min_letters, self.config.max_letters
        sizes = rng.integers(low, high + 1, size=len(index)) if knob is None else np.full(len(index), knob)
        drawn = rng.integers(0, len(self.letters), size=(int(sizes.max()), len(index)), dtype=np.int32)
        letters = np.array(self.letters, dtype=np.int32).take(drawn)
        return self._write(letters, sizes, every=knob is None and self.config.form == "dense")

    def read(self, question: str) -> Rows:
        """Return the row of a word typed by hand, as in `1 2 4`; in the final form `<ans>` may stand behind it."""
        words = question.split()
        self.vocab.encode(question)  # refuses unknown tokens
        words = words[1:] if words[:1] == [BOS] else words
        words = words[:-1] if words[-1:] == [ANSWER] and self.config.form == "final" else words
        for word in words:
            if word not in map(str, self.letters):
                known = nearest(word, list(map(str, self.letters)))
                raise UserError(f"{word!r} is not a letter of a word over {self.group.name} ({known})")
        self.knob.check(len(words))
        return self._write(np.array([[int(word)] for word in words], dtype=np.int32), np.array([len(words)]))

    def instance(self, rows: Rows, i: int) -> Instance:
        """Show the word as permutations or as a sum, and the products of its prefixes."""
        word = self._word(rows, i)
        products = self.group.prefix_products(word)
        signs = [self.group.signs[letter] for letter in word]
        between, modulus = (" + ", f" (mod {len(self.group)})") if self.group.is_abelian else (" ", "")
        subgroup = self._subgroups(word)[-1]
        return Instance(
            question=" ".join([*map(str, word), *[ANSWER] * (self.config.form == "final")]),
            answer=str(products[-1]),
            picture=f"{between.join(signs)} = {self.group.signs[products[-1]]}{modulus}\n"
            f"products {' '.join(map(str, products))}",
            meta={"subgroup_size": len(subgroup), "commuting": int(self._commute(word))},
        )

    def probes(self, rows: Rows, i: int) -> dict[str, Floats]:
        """Multiply letter by letter and note the state after each."""
        word = self._word(rows, i)
        products = self.group.prefix_products(word)
        image, rest = self.group.cosets
        states = {
            "t": np.arange(1, len(word) + 1),
            "product": products,
            "is_identity": products == 0,
            "subgroup_size": [len(subgroup) for subgroup in self._subgroups(word)],
            "abelian_image": image[products],
            "abelian_rest": rest[products],
        }
        out = {probe.name: np.full(int(rows.lengths[i]), np.nan) for probe in self.probe_specs}
        for name, values in out.items():
            values[1 : len(word) + 1] = states[name]
        return out

    def law(self, size: int) -> Floats:
        """Return the exact probability of every product of `size` letters."""
        elements = np.arange(len(self.group))
        step = np.zeros((len(self.group), len(self.group)))
        step[elements[:, None], self.group.table[:, self.letters]] = 1 / len(self.letters)
        law: Floats = np.linalg.matrix_power(step, size)[0]  # from the identity
        return law

    def baselines(self, size: int) -> Baselines:
        """Return how often guesses are right at a knob; over all letters 1/|G|, and |G/G'| times that.

        >>> [round(share, 3) for share in Words().baselines(5)]
        [0.167, 0.333]
        """
        law, (image, _) = self.law(size), self.group.cosets
        return Baselines(float(law.max()), float(sum(law[image == one].max() for one in range(image.max() + 1))))

    def _word(self, rows: Rows, i: int) -> Ints:
        word: Ints = np.array(rows.ids(i)[1 : -_TAIL[self.config.form]], dtype=np.int32) - self._first
        return word

    def _subgroups(self, word: Ints) -> list[frozenset[int]]:
        """Return the subgroup that the letters up to each one generate."""
        found = [frozenset({0})]
        for letter in word.tolist():
            found.append(join(self.group.name, found[-1], letter))
        return found[1:]

    def _commute(self, word: Ints) -> bool:
        table = self.group.table[np.ix_(word, word)]
        return bool((table == table.T).all())

    def _write(self, letters: Ints, sizes: Ints, *, every: bool = False) -> Rows:
        """Write words (one column each, cut to its size) with the labels of all their letters, or of the last one."""
        vocab, form, (width, count) = self.vocab, self.config.form, letters.shape
        products = self._first + self.group.prefix_products(letters).T
        each, t = np.arange(count), np.arange(1, width + 1)
        ids, labels = np.zeros((2, count, 1 + width + _TAIL[form]), dtype=np.int32)
        ids[:, 0] = vocab.id(BOS)
        ids[:, 1 : 1 + width] = np.where(t <= sizes[:, None], self._first + letters.T, 0)
        ids[each, sizes + _TAIL[form]] = vocab.id(EOS)
        if form == "final":
            ids[each, sizes + 1], ids[each, sizes + 2] = vocab.id(ANSWER), products[each, sizes - 1]
        due = t <= sizes[:, None] if every else t == sizes[:, None]
        labels[:] = IGNORE
        labels[:, 1 + _LAG[form] : 1 + _LAG[form] + width] = np.where(due, products, IGNORE)
        return Rows(ids, labels, 1 + sizes + _TAIL[form], sizes)
