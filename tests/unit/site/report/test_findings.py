import pytest
from tests.report_support import FakeRun, write_run
from tests.sealing_support import unlist

from anira.measure.statistics.estimates import Estimate
from anira.site.report.findings import _movement, findings
from anira.site.report.runs import load_runs


def found(folders, *, knob="L"):
    """The finding of one experiment."""
    (finding,) = findings([load_runs(folders)], knob=knob).each
    return finding


def test_a_planted_rise_is_found(folders):
    finding = found([folders["rising"]])
    assert finding.sentence.startswith("mean answer depth rises by 0.")
    assert "iterations per unit of L; accuracy 0." in finding.sentence
    assert "1 seed, and 3 are needed" in finding.caveats[0]


def test_a_planted_fall_is_written_with_positive_figures(folders):
    finding = found([folders["falling"]], knob="N")
    assert finding.sentence.startswith("mean answer depth falls by 0.")
    assert "[-" not in finding.sentence


def test_no_effect_is_said_to_be_none(folders):
    assert found([folders["flat"]]).sentence.startswith("no clear effect")


def test_constant_depth_has_no_direction(folders):
    finding = found([folders["fixed"]])
    assert "does not move with L: the depth is constant" in finding.sentence
    assert "not testable" in finding.caveats[0]


def test_a_model_that_has_not_learned_the_task_is_said_to_say_nothing(tmp_path):
    finding = found([write_run(tmp_path, FakeRun(accuracy=0.3))])
    assert finding.sentence.startswith(
        "no finding, because accuracy is not above the majority baseline: mean answer depth"
    )
    assert "not testable; accuracy is not above the majority baseline" in finding.caveats[0]


@pytest.mark.parametrize(
    ("slope", "words"),
    [
        (Estimate(0.312, 0.25, 0.37), "rises by 0.31 [0.25, 0.37]"),
        (Estimate(-0.312, -0.37, -0.25), "falls by 0.31 [0.25, 0.37]"),
        (Estimate(0.02, 0.004, 0.036), "rises by 0.020 [0.004, 0.036]"),  # two decimals would say 0.00
        (Estimate(0.02, -0.1, 0.14), "no clear effect: mean answer depth changes by 0.02 [-0.10, 0.14]"),
        (Estimate(0.02, reason="too few instances"), "has no interval: too few instances"),
        (Estimate(None, reason="the depth is constant"), "does not move with L: the depth is constant"),
    ],
)
def test_the_words_follow_the_interval(slope, words):
    assert words in _movement(slope, "L")


@pytest.mark.parametrize(("slopes", "word"), [((0.5, 0.5, 0.5), "supported"), ((0.5, 0.5, 0.0), "inconclusive")])
def test_three_seeds_get_a_verdict(tmp_path, slopes, word):
    runs = [FakeRun(seed=seed, slope=slope) for seed, slope in enumerate(slopes)]
    finding = found([write_run(tmp_path, run) for run in runs])
    assert f"rises with L in {sum(slope > 0 for slope in slopes)} of 3 seeds" in finding.sentence
    assert f": {word};" in finding.caveats[0]


def test_an_evaluation_that_was_interrupted_says_so(tmp_path):
    folder = write_run(tmp_path, FakeRun(), complete=False)
    unlist(folder / "records" / "final", "tokens-k004.parquet")
    assert any("knob 4" in caveat for caveat in found([folder]).caveats)


def test_what_holds_for_all_is_said_once(folders):
    runs = [load_runs([folders[name]]) for name in ("rising", "flat")]
    both = findings(runs, knob="L")
    assert any("cannot be told apart" in caveat for caveat in both.caveats)
    assert not any(caveat in both.caveats for one in both.each for caveat in one.caveats)
    alone = findings(runs[:1], knob="L")
    assert any("cannot be told apart" in caveat for caveat in alone.each[0].caveats)
