"""Word problems in plain Python: draw one clause after the other, tell the story, work the answer out.

The sentences are the language's own; `solve` knows none of them. It reads a text by a few words that give its meaning
away, as somebody would who has never seen how texts are made.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from random import Random

from anira.tasks.wordmath import SENTENCES, WordmathConfig
from anira.tasks.wordmath.sentences import NAMES, PRONOUNS, THINGS, WORDINGS, make_vocab

IGNORE = -100
LESS = {"sells", "loses", "lost", "fewer", "behind", "trails"}

Clause = tuple[str, dict[str, str]]  # a meaning, and what fills its slots
Step = tuple[str, int, str, int, int]  # whose number (where people are compared), value, sign, amount, value after it


def generate(rng: Random, config: WordmathConfig, knob: int | None = None) -> tuple[list[int], list[int]]:
    """Return the input ids and the labels of one row."""
    wordings = WORDINGS - (config.held_out_wording and knob is None)
    kind = rng.choice(["events", "comparisons"]) if config.story == "both" else config.story
    story, clauses = draw(rng, kind, knob or rng.choice(config.clauses), config.limit)
    for _ in range(config.distractors):
        place = rng.randint(kind == "events", len(clauses))
        clauses.insert(place, ("aside", {**story, "n": str(rng.randint(2, 9)), **strangers(rng, story)}))
    texts = [tell(rng, meaning, kind, slots, wordings) for meaning, slots in [*clauses, ("ask", story)]]
    words = " ".join(texts).split()
    return write(words, solve(words), config)


def draw(rng: Random, kind: str, size: int, limit: int) -> tuple[dict[str, str], list[Clause]]:
    """Return what the question asks about, and the sentences before it: their meanings and their slots."""
    people = rng.sample(list(NAMES), size + 1)
    if kind == "events":
        people = [people[0]] * (size + 1)
    value, slots = rng.randint(2, limit), {"things": rng.choice(THINGS)}
    clauses = [("open", {**slots, **person(people[0]), "n": str(value)})]
    for before, name in pairwise(people):
        meaning, amount, value = rng.choice(possible(rng, value, limit))
        clauses.append((meaning, {**slots, **person(name), "other": before, "n": str(amount)}))
    if kind == "comparisons":
        rng.shuffle(clauses)
    return {**slots, **person(people[-1])}, clauses


def possible(rng: Random, value: int, limit: int) -> list[tuple[str, int, int]]:
    """Return one operation of every meaning that is possible at a value: its amount and what it leads to."""
    found = []
    if more := [amount for amount in range(2, 10) if value + amount <= limit]:
        amount = rng.choice(more)
        found.append(("add", amount, value + amount))
    if less := [amount for amount in range(2, 10) if value - amount >= 1]:
        amount = rng.choice(less)
        found.append(("take", amount, value - amount))
    if 2 * value <= limit:
        found.append(("double", 2, 2 * value))
    if value % 2 == 0:
        found.append(("halve", 2, value // 2))
    return found


def person(name: str) -> dict[str, str]:
    """Return the slots of a person."""
    return {"name": name, **dict(zip(("she", "She", "her"), PRONOUNS[NAMES[name]], strict=True))}


def strangers(rng: Random, story: dict[str, str]) -> dict[str, str]:
    """Return somebody and something else."""
    return {
        "other": rng.choice([name for name in NAMES if name != story["name"]]),
        "toys": rng.choice([thing for thing in THINGS if thing != story["things"]]),
    }


def tell(rng: Random, meaning: str, kind: str, slots: dict[str, str], wordings: int) -> str:
    """Return a sentence with this meaning."""
    texts = [one.text for one in SENTENCES if one.meaning == meaning and one.kind in (None, kind)]
    return rng.choice(texts[:wordings]).format(**slots)


def solve(words: Sequence[str]) -> list[Step]:
    """Return the steps of a problem.

    >>> solve("Ana has 5 apples . Ben is 3 apples behind Ana . How many apples does Ben have ?".split())
    [('Ben', 5, '-', 3, 2)]
    """
    *story, _ = (sentence.split() for sentence in " ".join(words[:-1]).split(" ."))
    events, comparisons, start = [], {}, ("", 0)
    for told in story:
        people = [word for word in told if word in NAMES]
        numbers = [int(word) for word in told if word.isdigit()]
        if is_aside(told):
            continue
        if len(people) == 1 and len(numbers) == 1 and told[1] in ("has", "owns", "keeps", "counts"):
            start = people[0], numbers[0]
        elif len(people) == 2:  # the second is the one that the first is compared with
            comparisons[people[1]] = (people[0], *operation(told, numbers))
        else:
            events.append(("", *operation(told, numbers)))
    return follow(start, events, comparisons)


def is_aside(told: Sequence[str]) -> bool:
    """Say whether a sentence changes nothing."""
    return bool({"old", "Meanwhile", "likes", "wants"} & set(told))


def operation(told: Sequence[str], numbers: Sequence[int]) -> tuple[str, int]:
    """Return the sign and the amount of a clause.

    >>> operation("She gives half to a friend".split(), []), operation("A friend gives her 3 more".split(), [3])
    (('/', 2), ('+', 3))
    """
    if not numbers:
        return ("/", 2) if "half" in told else ("*", 2)
    given_away = "gives" in told and "friend" in told[told.index("gives") :]
    return ("-" if LESS & set(told) or given_away else "+"), numbers[0]


def follow(
    start: tuple[str, int], events: Sequence[tuple[str, str, int]], comparisons: Mapping[str, tuple[str, str, int]]
) -> list[Step]:
    """Return the steps in their order: as events were told, or along people."""
    (who, value), steps, ahead = start, [], list(events)
    while ahead or who in comparisons:
        who, sign, amount = ahead.pop(0) if ahead else comparisons[who]
        after = {"+": value + amount, "-": value - amount, "*": value * amount, "/": value // amount}[sign]
        steps.append((who, value, sign, amount, after))
        value = after
    return steps


def write(words: Sequence[str], steps: Sequence[Step], config: WordmathConfig) -> tuple[list[int], list[int]]:
    """Return the row and its labels: the answer is supervised."""
    answer: list[str] = []
    for name, left, sign, amount, after in steps if config.answer == "steps" else ():
        answer += [*[name, ":"] * bool(name), str(left), sign, str(amount), "=", str(after), "."]
    answer += [*["####"] * (config.answer == "steps"), str(steps[-1][-1]), "<eos>"]
    vocab = make_vocab(config.limit)
    ids = vocab.encode(" ".join(["<bos>", *words, "<ans>", *answer]))
    return ids, [*[IGNORE] * (len(ids) - len(answer)), *ids[len(ids) - len(answer) :]]
