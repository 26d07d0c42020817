"""lm-evaluation-harness: our task and our model agree with `anira gsm-symbolic`, item by item."""

import os
import warnings

import polars as pl
import pytest
import tests.gsm_support as support
import torch

pytest.importorskip("lm_eval", reason="the extra `text` is not installed")

from anira.cli.lm_eval import translated
from anira.config import UserError
from anira.evaluation.gsm_symbolic import GsmConfig, Loaded, evaluate_gsm_symbolic, read_problems
from anira.evaluation.gsm_symbolic.sources import read_shots
from anira.evaluation.harness import TASKS
from anira.evaluation.records import RecordFolder

MOST = 12
pytestmark = pytest.mark.filterwarnings("ignore")  # other people's code


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    root = tmp_path_factory.mktemp("harness")
    support.write_data(root / "data")
    support.write_shots(root / "shots.jsonl")
    return root


@pytest.fixture(scope="module")
def harness(place):
    """Return a function that lets the harness evaluate a model, and gives its result."""
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import lm_eval
        from lm_eval.tasks import TaskManager

        from anira.evaluation.harness.model import AniraLM

    metadata = {"data": str(place / "data"), "shots": str(place / "shots.jsonl")}
    manager = TaskManager(include_path=str(TASKS), metadata=metadata)

    def evaluate(loaded, tasks, **options):
        model = AniraLM(loaded, batch_size=4, max_length=2048, **options)
        return lm_eval.simple_evaluate(
            model=model, tasks=tasks, task_manager=manager, gen_kwargs=f"max_gen_toks={MOST}", bootstrap_iters=0
        )

    return evaluate


@pytest.fixture(scope="module")
def loaded():
    return Loaded(support.tiny_anira(), support.byte_tokenizer(), "tiny")


def ours(loaded, place, out, **config):
    problems = read_problems(str(place / "data"))
    shots = read_shots(place / "shots.jsonl")
    evaluate_gsm_symbolic(loaded, problems, shots, GsmConfig(max_new_tokens=MOST, **config), out)
    return {knob: RecordFolder(out).read(knob) for knob in range(3)}


@pytest.mark.parametrize("options", [{}, {"depth": 2}, {"select": "quantile", "threshold": 0.9}])
def test_the_harness_and_our_command_agree_item_by_item(harness, loaded, place, tmp_path, options):
    mine = ours(loaded, place, tmp_path / "records", **options)
    tasks = ["gsm_symbolic_main", "gsm_symbolic_p1", "gsm_symbolic_p2"]
    result = harness(loaded, tasks, records=str(tmp_path / "depths"), **options)
    for knob, task in enumerate(tasks):
        instances, tokens = mine[knob]
        samples = sorted(result["samples"][task], key=lambda one: one["doc_id"])
        assert [one["doc"]["question"] for one in samples] == instances["question"].to_list()
        assert [one["resps"][0][0] for one in samples] == instances["predicted"].to_list()
        assert [bool(one["exact_match"]) for one in samples] == instances["correct"].to_list()
        assert result["results"][task]["exact_match,none"] == pytest.approx(instances["correct"].mean())
        depths = pl.read_parquet(tmp_path / "depths" / f"{task}.parquet").sort("doc_id", "index")
        answers = tokens.filter(target_kind="answer").sort("instance_id", "position")
        assert depths["exit_depth"].to_list() == answers["exit_depth"].to_list()
        assert depths["token_id"].to_list() == answers["target_id"].to_list()


def test_right_answers_count_in_both(harness, loaded, place, tmp_path):
    """Golds that the model happens to write: accuracy is then not zero by accident."""
    instances, _ = ours(loaded, place, tmp_path / "records")[0]
    assert 0 < instances["correct"].sum() < len(instances)


def test_a_stock_model_runs_too(harness, place, tmp_path):
    stock = Loaded(support.tiny_llama(), support.byte_tokenizer(), "llama")
    mine, _ = ours(stock, place, tmp_path / "records")[2]
    samples = harness(stock, ["gsm_symbolic_p2"])["samples"]["gsm_symbolic_p2"]
    texts = {one["doc"]["question"]: one["resps"][0][0] for one in samples}
    assert texts == dict(zip(mine["question"], mine["predicted"], strict=True))


def test_sampling_and_impossible_depths_are_refused(harness, loaded):
    from anira.evaluation.harness.model import AniraLM

    with pytest.raises(UserError, match="at most depth 3: 9 cannot be forced"):
        AniraLM(loaded, depth=9)
    model = AniraLM(loaded, batch_size=1)
    context = torch.ones(1, 3, dtype=torch.long)
    with pytest.raises(UserError, match="writes greedily: sampling is not supported"):
        model._model_generate(context, 5, ["Q:"], do_sample=True, temperature=0.7)
    with pytest.raises(UserError, match="writes greedily: top_p is not supported"):
        model._model_generate(context, 5, ["Q:"], top_p=0.5)


def test_the_launcher_runs_the_task_from_the_command_line(anira, place, monkeypatch):
    monkeypatch.chdir(place)
    support.save(support.tiny_anira(), place / "model")
    words = ["--model", "anira", "--model_args", "pretrained=model,records=depths,max_length=2048"]
    words += ["--tasks", "gsm_symbolic_p2", "--data", "data", "--shots", "shots.jsonl", "--limit", "2"]
    result = anira("lm-eval", "run", *words, "--gen_kwargs", "max_gen_toks=3", "--device", "cpu")
    assert result.status == 0, result.err
    assert "gsm_symbolic_p2" in result.out
    assert pl.read_parquet(place / "depths" / "gsm_symbolic_p2.parquet")["doc_id"].unique().sort().to_list() == [0, 1]


def test_our_words_become_the_harnesss_metadata():
    words = translated(["run", "--data=gsm", "--tasks", "gsm_symbolic", "--shots", "mine.jsonl"])
    assert words == ["run", "--tasks", "gsm_symbolic", "--metadata", '{"data": "gsm", "shots": "mine.jsonl"}']
    assert translated(["ls", "tasks"]) == ["ls", "tasks"]
    with pytest.raises(UserError, match="--data needs a value"):
        translated(["run", "--data"])
    with pytest.raises(UserError, match="--metadata goes without"):
        translated(["run", "--data", "gsm", "--metadata", "{}"])
