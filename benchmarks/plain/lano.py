"""LANO in plain Python: derive one sentence, write it down."""

from random import Random

from anira.tasks.lano import CFG3B, Grammar, LanoConfig

BOS, EOS = 4, 5  # 0 is padding; the terminals 1, 2, 3 are their own ids
IGNORE = -100


def generate(rng: Random, config: LanoConfig) -> tuple[list[int], list[int]]:
    """Return the input ids and the labels of a row with one sentence."""
    return write(derive(rng, CFG3B.restricted(config.start_symbol)))


def derive(rng: Random, grammar: Grammar) -> list[int]:
    """Return a random sentence: the first open symbol is replaced until only terminals are left.

    >>> derive(Random(1), CFG3B.restricted(10))
    [3, 1, 2, 1, 3, 2]
    """
    open_symbols, sentence = [grammar.start], []
    while open_symbols:
        symbol = open_symbols.pop()
        rules = grammar.bodies.get(symbol)
        if rules is None:
            sentence.append(int(symbol))
        else:
            open_symbols += reversed(rng.choice(rules).body)  # the rules of cfg3b are equally likely
    return sentence


def write(sentence: list[int]) -> tuple[list[int], list[int]]:
    """Return the row `<bos> sentence <eos>` and its labels; everything but `<bos>` is supervised."""
    return [BOS, *sentence, EOS], [IGNORE, *sentence, EOS]
