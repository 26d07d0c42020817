"""The choice of instances for the token view, and what is shown of a token."""

from dataclasses import dataclass, replace

import polars as pl
from hypothesis import given
from hypothesis import strategies as st
from tests.report_support import FakeRun, write_run

from anira.measure.records.loading import load_evaluation
from anira.site.tokens import Shown, choose, token_view


@dataclass(frozen=True)
class Made:
    """Stands in for an evaluation in tests of the choice."""

    instances: pl.LazyFrame
    tokens: pl.LazyFrame

    def collect(self, frame):
        return frame.collect()


def made(rows, label="anira-o", length=5):
    """Instances (knob, question, right), ids in order; no tokens."""
    columns = [
        {"instance_id": i, "knob": knob, "question": question, "answer": "a", "predicted": "a", "correct": right}
        for i, (knob, question, right) in enumerate(rows)
    ]
    table = pl.LazyFrame(columns).with_columns(num_tokens=length)
    return Shown(label=label, max_depth=4, evaluation=Made(table, pl.LazyFrame()))


ROWS = st.lists(st.tuples(st.integers(1, 4), st.booleans()), min_size=1, max_size=30).map(
    lambda pairs: [(knob, f"q{i}", right) for i, (knob, right) in enumerate(pairs)]
)


@given(ROWS, st.integers(0, 200))
def test_the_choice_fits_the_page_and_every_knob_and_outcome_takes_turns(rows, most):
    chosen = choose([made(rows)], most)
    assert 1 <= len(chosen) <= max(1, most // 5)
    assert len(chosen) == min(len(rows), max(1, most // 5))
    counts = chosen.group_by("knob", "right").len()
    have = {key: sum(1 for knob, _, right in rows if (knob, right) == key) for key in {(r[0], r[2]) for r in rows}}
    for knob, right, count in counts.iter_rows():
        others = [other for other in counts["len"] if other > count + 1]
        assert not others or count == have[knob, right], "one outcome gets more only where another has no more"


def test_an_instance_counts_as_right_if_all_runs_get_it_right_and_shared_ones_come_first():
    one, other = made([(1, "a", True), (1, "b", True), (2, "c", True)]), made([(1, "b", False), (2, "c", True)])
    chosen = choose([one, other], 1000)
    assert dict(chosen.select("question", "right").iter_rows()) == {"b": False, "c": True}


def test_tokens_carry_depth_probabilities_probes_and_what_answers_predict(tmp_path):
    folder = write_run(tmp_path, FakeRun(count=12))
    run = Shown(label="mine", max_depth=4, evaluation=load_evaluation(folder / "records" / "final"))
    data = token_view([run], name="mano", title="MANO", knob="L").data
    assert (data["knob"], data["max_depth"]) == ("L", 4)
    assert {one["knob"] for one in data["instances"]} == {1, 2, 3, 4}
    strip = data["instances"][-1]["strips"][0]
    assert (strip["run"], strip["left_out"]) == ("mine", 0)
    answers = [token for token in strip["tokens"] if "predicts" in token]
    assert len(answers) == 1
    assert isinstance(answers[0]["right"], bool)
    assert all(1 <= token["depth"] <= 4 and len(token["probs"]) == 4 for token in strip["tokens"])
    assert "stack depth" in data["probes"]
    assert any(len(token.get("probes", [])) == len(data["probes"]) for token in strip["tokens"])
    assert [token["position"] for token in strip["tokens"]] == list(range(len(strip["tokens"])))
    assert data["runs"] == ["mine"]
    assert len(data["instances"][-1]["picture"]["boxes"]) == len(strip["tokens"]) - 4  # <bos>, <ans>, answer, <eos>


def test_records_with_a_lens_show_it_at_answers_with_the_truth(tmp_path):
    folder = write_run(tmp_path, FakeRun(count=12))
    found = load_evaluation(folder / "records" / "final")
    said = pl.when(target_kind="answer").then(pl.concat_list(pl.lit("0"), pl.lit("1"))).alias("lens")
    run = Shown(label="mine", max_depth=4, evaluation=replace(found, tokens=found.tokens.with_columns(said)))
    data = token_view([run], name="mano", title="MANO", knob="L").data
    for one in data["instances"]:
        answers = [token for token in one["strips"][0]["tokens"] if "predicts" in token]
        assert [(token["lens"], token["truth"]) for token in answers] == [(["0", "1"], one["answer"])]
        assert [token for token in one["strips"][0]["tokens"] if "lens" in token] == answers
