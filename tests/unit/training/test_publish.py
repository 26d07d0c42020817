import pytest
from tests.training_support import assert_same_records, begin, resume, tiny_config, train_tiny

from anira.config import UserError
from anira.measure.records.folders import choose_evaluation
from anira.measure.records.loading import load_evaluation
from anira.training import load_run, publish_run
from anira.training.checkpoint import latest_checkpoint


def test_a_published_run_is_used_as_the_run_itself(tmp_path):
    run = train_tiny(tmp_path / "runs")
    kept = publish_run(run, tmp_path / "results")
    assert kept == tmp_path / "results" / run.parent.name / run.name
    for (name, ours), theirs in zip(
        load_run(kept, None)[1].named_parameters(), load_run(run, None)[1].parameters(), strict=True
    ):
        assert ours.equal(theirs), name
    one, other = (load_evaluation(choose_evaluation(path, None)) for path in (kept, run))
    assert one.tokens.collect().equals(other.tokens.collect())
    assert (kept / "metrics.jsonl").read_bytes() == (run / "metrics.jsonl").read_bytes()
    assert not list(kept.rglob("optimizer*"))
    assert [path.name for path in (kept / "records").iterdir()] == ["final"]
    assert len(list((run / "records").iterdir())) > 1


def test_records_of_evaluations_during_training_are_kept_on_request(tmp_path):
    run = train_tiny(tmp_path / "runs")
    kept = publish_run(run, tmp_path / "results", keep_periodic=True)
    assert_same_records(kept / "records", run / "records")


def test_a_run_without_records_can_still_be_loaded(tmp_path):
    run = train_tiny(tmp_path / "runs")
    kept = publish_run(run, tmp_path / "results", keep_records=False)
    assert not (kept / "records").exists()
    assert load_run(kept, None)[2] == load_run(run, None)[2]


def test_weights_in_half_precision_are_read_as_the_run_rounded(tmp_path):
    run = train_tiny(tmp_path / "runs")
    kept = publish_run(run, tmp_path / "results", half_weights=True)
    files = [next(folder.rglob("model.safetensors")) for folder in (kept, run)]
    assert files[0].stat().st_size < 0.6 * files[1].stat().st_size
    pairs = zip(load_run(kept)[1].parameters(), load_run(run)[1].parameters(), strict=True)
    for ours, theirs in pairs:
        assert ours.dtype == theirs.dtype
        assert ours.equal(theirs.half().to(theirs.dtype))


def test_a_published_run_cannot_be_trained_on_and_says_why(tmp_path):
    kept = publish_run(train_tiny(tmp_path / "runs"), tmp_path / "results")
    with pytest.raises(UserError, match="was kept without its optimizer"):
        resume(kept)


def test_large_weights_are_left_out(tmp_path, monkeypatch):
    monkeypatch.setattr("anira.training.publish.LARGEST_WEIGHTS", 10)
    kept = publish_run(train_tiny(tmp_path / "runs"), tmp_path / "results")
    assert latest_checkpoint(kept) is None


def test_an_unfinished_run_or_a_second_copy_is_refused(tmp_path):
    with pytest.raises(UserError, match="is not a finished run"):
        publish_run(begin(tmp_path, tiny_config("mano-fixed-smoke")), tmp_path / "results")
    run = train_tiny(tmp_path / "runs")
    publish_run(run, tmp_path / "results")
    with pytest.raises(UserError, match="is there already"):
        publish_run(run, tmp_path / "results")
