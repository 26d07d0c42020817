"""The page: the paper's table with clauses that are known, what the rule says, and depth by clauses."""

from collections.abc import Iterator, Sequence
from typing import Final

from anira.measure import quantity
from anira.paper.wordmath.measure import Found
from anira.paper.wordmath.runs import BEYOND, FIXED, FORMS, SHALLOW, VARIANTS
from anira.site import SMOKE, Badge, Cell, ChartPart, Note, Page, Section, TablePart, Tone, amount, interval, read_notes
from anira.site.charts import Legend, knob_chart
from anira.site.tables import Column, estimate_cell

_NAMES: Final = {"anira-e": "ANIRA-E", "anira-o": "ANIRA-O", FIXED: "fixed depth", SHALLOW: "trained at depth 1"}
_SPLITS: Final = ("Main", "P1", "P2")
JUDGED: Final = VARIANTS[:2]


def make_page(forms: Sequence[Found], *, scale: str, files: Sequence[str]) -> Page:
    """Return the page, a section for each form of the answer; the last form leads, where work is done in one token."""
    return Page(
        title="Word problems: does depth follow the number of clauses?",
        badge=badge(forms),
        answer=[*(line for found in forms for line in answer(found)), *[SMOKE] * (scale == "smoke")],
        lead=_chart(forms[-1], "depth", "answer", "mean answer depth"),
        verdicts=[note for found in forms for note in verdicts(found)],
        sections=[
            *(_section(found, is_lead=found is forms[-1]) for found in forms),
            Section(title="How to read this page", notes=read_notes("anira.paper.wordmath")),
        ],
        files=files,
        command=f"anira reproduce wordmath --scale {scale}",
    )


def badge(forms: Sequence[Found]) -> Badge:
    """Say in how many of the pairs of model and form depth follows the number of clauses."""
    words = [word for found in forms for name in JUDGED if (word := found.follows(name)) != "unknown"]
    if not words:
        return Badge("no verdict yet", "open")
    rising = words.count("follows")
    tone: Tone = "yes" if rising else "no" if any(found.needed for found in forms) else "open"
    return Badge(f"{rising or 'none'} of {len(words)} follow", tone)


def answer(found: Found) -> list[str]:
    """Say what one form of the answer shows: whose depth follows, and whether depth is needed."""
    where = f"Where the answer is given {FORMS[found.form]}"
    known = {name: found.follows(name) for name in JUDGED if found.follows(name) != "unknown"}
    if not known:
        return [f"{where}: no verdict yet, it takes three seeds."]
    who = [_NAMES[name] for name, word in known.items() if word == "follows"]
    verb = "follows" if who else "does not follow"
    names = " and ".join(who) or " or ".join(_NAMES[name] for name in known)
    return [f"{where}, depth {verb} the number of clauses in {names}.", _need(found)]


def _need(found: Found) -> str:
    deep, shallow = (found.row(name, "accuracy", found.hardest)["value"] for name in (FIXED, SHALLOW))
    if deep is None or shallow is None:
        return "Need is unknown: there are no models trained at depth 1."
    unit, verb = quantity("accuracy"), "is needed" if found.needed else "is not needed"
    so = "" if found.needed else ", so that a flat curve is right"
    return (
        f"Depth {verb} there{so}: at {found.hardest} clauses models trained at depth 1 get "
        f"{amount(shallow, unit)} right, and models trained at full depth {amount(deep, unit)}."
    )


def verdicts(found: Found) -> list[Note]:
    """Return a verdict for each adaptive model."""
    return [Note(f"{_NAMES[name]}, answer {FORMS[found.form]}", _verdict(found, name)) for name in JUDGED]


def _verdict(found: Found, name: str) -> str:
    row, depth = found.row(name, "slope"), found.row(name, "depth", None, "answer")
    if depth["value"] is None:
        return "There are no finished runs."
    mean = f"Mean answer depth is {amount(depth['value'], quantity('depth'))}"
    word = found.follows(name)
    if row["value"] is None:
        return f"{mean}; its slope is undefined: {row['reason']}."
    unit = quantity("slope")
    slope = f"{amount(row['value'], unit)} {interval(row['low'], row['high'], unit)}".strip()
    end = "a verdict takes three seeds" if word == "unknown" else f"it {word} the number of clauses"
    return f"{mean}, and changes by {slope} iterations per clause: {end}."


def _section(found: Found, *, is_lead: bool) -> Section:
    charts = [_chart(found, "accuracy", "all", "accuracy")]
    charts += [] if is_lead else [_chart(found, "depth", "answer", "mean answer depth")]
    return Section(title=f"The answer {FORMS[found.form]}", parts=[paper_table(found), *charts], open=is_lead)


def paper_table(found: Found) -> TablePart:
    """Return the paper's table: accuracy of the baseline, accuracy and depth of both variants, by clauses."""
    head = [Cell("clauses"), Cell(_NAMES[SHALLOW], "accuracy"), Cell(_NAMES[FIXED], "accuracy")]
    head += [Cell(_NAMES[name], what) for name in JUDGED for what in ("accuracy", "depth")]
    caption = "Means over seeds with 95% t intervals. Depth is the mean over answer tokens. Training has no P1 or P2."
    return TablePart(title="Accuracy and depth by clauses", caption=caption, head=head, rows=list(_lines(found)))


def _lines(found: Found) -> Iterator[list[Cell]]:
    for knob in found.clauses:
        place = knob - found.hardest
        name = f"{knob} ({_SPLITS[place]})" if 0 <= place <= BEYOND else str(knob)
        cells = [estimate_cell(found.row(variant, "accuracy", knob)) for variant in (SHALLOW, FIXED)]
        for variant in JUDGED:
            cells.append(estimate_cell(found.row(variant, "accuracy", knob)))
            cells.append(estimate_cell(found.row(variant, "depth", knob, "answer")))
        yield [Cell(name), *cells]


def _chart(found: Found, name: str, subset: str, title: str) -> ChartPart:
    return ChartPart(
        name=f"{found.form}-{name}",
        title=f"{title[:1].upper()}{title[1:]} by clauses, the answer {FORMS[found.form]}",
        chart=knob_chart(
            found.seeds,
            found.runs,
            Column(name, title, subset),
            legend=Legend(_NAMES, grey=_NAMES[FIXED]),
            knob="clauses",
            edge=found.hardest + 0.5,
        ),
        caption="Large marks: means over seeds; bands: 95% intervals; small marks: seeds. Right of the dashed line: "
        "more clauses than in training.",
    )
