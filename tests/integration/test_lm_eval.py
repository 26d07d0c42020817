"""lm-evaluation-harness: our task and our model agree with `anira gsm-symbolic`, item by item."""

import warnings
from functools import partial

import polars as pl
import pytest
import tests.gsm_support as support
import torch

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # the harness and what it imports have some
    pytest.importorskip("lm_eval", reason="the extra `text` is not installed")
    import lm_eval.evaluator
    import lm_eval.tasks
    from lm_eval.models.huggingface import HFLM

    from anira.evaluation.harness.model import AniraLM

from anira.cli.lm_eval import translated
from anira.config import UserError
from anira.evaluation.gsm_symbolic import GsmConfig, Loaded, evaluate_gsm_symbolic, read_problems
from anira.evaluation.gsm_symbolic.sources import read_shots
from anira.evaluation.harness import TASKS
from anira.evaluation.records import RecordFolder
from anira.tasks.gsm_symbolic import last_number

MOST = 16
OUR_TASKS = partial(lm_eval.tasks.TaskManager, include_defaults=False)  # the harness's own are thousands of files
pytestmark = pytest.mark.filterwarnings("ignore")  # other people's code


@pytest.fixture(scope="module")
def loaded():
    return Loaded(support.tiny_anira(), support.byte_tokenizer(), "tiny")


@pytest.fixture(scope="module")
def place(tmp_path_factory, loaded):
    """Questions of which some have the very answer that the model writes."""
    root = tmp_path_factory.mktemp("harness")
    support.write_shots(root / "shots.jsonl")
    written = ours(loaded, support.write_data(root / "plain").parent, root / "records", data="plain")
    texts = {row["question"]: row["predicted"] for one, _ in written.values() for row in one.iter_rows(named=True)}

    def change(row):
        number = last_number(texts[row["question"]])
        return row if number is None or row["instance"] else {**row, "answer": f"so #### {number:g}"}

    support.write_data(root / "data", change=change)
    return root


@pytest.fixture(scope="module")
def harness(place):
    """Return a function that lets the harness evaluate a model, and gives its result."""
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        patch.setattr(lm_eval.evaluator, "add_env_info", lambda results: None)  # asks git, pip and the CPU
        patch.setattr(lm_eval.tasks, "TaskManager", OUR_TASKS)
        metadata = {"data": str(place / "data"), "shots": str(place / "shots.jsonl")}
        manager = OUR_TASKS(include_path=str(TASKS), metadata=metadata)

        def evaluate(loaded, tasks, model=None, **options):
            model = model or AniraLM(loaded, batch_size=4, max_length=2048, **options)
            asked = {"gen_kwargs": f"max_gen_toks={MOST}", "bootstrap_iters": 0, "task_manager": manager}
            return lm_eval.simple_evaluate(model=model, tasks=tasks, **asked)

        yield evaluate


def ours(loaded, place, out, data="data", **config):
    problems = read_problems(str(place / data))
    shots = read_shots(place / "shots.jsonl")
    evaluate_gsm_symbolic(loaded, problems, shots, GsmConfig(max_new_tokens=MOST, **config), out)
    return {knob: RecordFolder(out).read(knob) for knob in range(3)}


@pytest.mark.parametrize("options", [{}, {"depth": 2}, {"select": "quantile", "threshold": 0.9}])
def test_the_harness_and_our_command_agree_item_by_item(harness, loaded, place, tmp_path, options):
    mine = ours(loaded, place, tmp_path / "records", **options)
    right = [one["correct"].sum() for one, _ in mine.values()]
    assert options or (0 < sum(right) < 30), "some answers must be right, and some wrong"
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


def test_a_stock_model_answers_as_the_harness_own_model_does(harness, place, tmp_path):
    stock = Loaded(support.tiny_llama(), support.byte_tokenizer(), "llama")
    mine, _ = ours(stock, place, tmp_path / "records")[2]
    for model in (None, HFLM(pretrained=stock.model, tokenizer=stock.tokenizer, batch_size=4, max_length=2048)):
        samples = harness(stock, ["gsm_symbolic_p2"], model=model)["samples"]["gsm_symbolic_p2"]
        texts = {one["doc"]["question"]: one["resps"][0][0] for one in samples}
        assert texts == dict(zip(mine["question"], mine["predicted"], strict=True))


def test_sampling_and_impossible_depths_are_refused(harness, loaded):
    with pytest.raises(UserError, match="--model_args pretrained=MODEL"):
        AniraLM()
    with pytest.raises(UserError, match="at most depth 3: 9 cannot be forced"):
        AniraLM(loaded, depth=9)
    model = AniraLM(loaded, batch_size=1)
    context = torch.ones(1, 3, dtype=torch.long)
    with pytest.raises(UserError, match="writes greedily: sampling is not supported"):
        model._model_generate(context, 5, ["Q:"], do_sample=True, temperature=0.7)
    with pytest.raises(UserError, match="writes greedily: top_p is not supported"):
        model._model_generate(context, 5, ["Q:"], top_p=0.5)


def test_the_launcher_runs_the_task_from_the_command_line(harness, anira, place, monkeypatch):
    monkeypatch.chdir(place)
    support.save(support.tiny_anira(), place / "model")
    words = ["--model", "anira", "--model_args", "pretrained=model,records=depths,max_length=2048"]
    words += ["--tasks", "gsm_symbolic_p2", "--data", "data", "--shots", "shots.jsonl", "--limit", "2"]
    result = anira("lm-eval", "run", *words, "--gen_kwargs", "max_gen_toks=3", "--device", "cpu")
    assert result.status == 0, result.err
    assert "gsm_symbolic_p2" in result.out
    assert pl.read_parquet(place / "depths" / "gsm_symbolic_p2.parquet")["doc_id"].unique().sort().to_list() == [0, 1]


def test_what_the_harness_does_not_understand_is_one_line(anira):
    result = anira("lm-eval", "run", "--no-such-option")
    assert (result.status, result.out) == (2, "")
    assert result.err == (
        "anira: lm-eval: error: unrecognized arguments: --no-such-option (see anira lm-eval --help)\n"
    )


def test_our_words_become_the_harnesss_metadata():
    words = translated(["run", "--data=gsm", "--tasks", "gsm_symbolic", "--shots", "mine.jsonl"])
    assert words == ["run", "--tasks", "gsm_symbolic", "--metadata", '{"data": "gsm", "shots": "mine.jsonl"}']
    assert translated(["ls", "tasks"]) == ["ls", "tasks"]
    with pytest.raises(UserError, match="--data needs a value"):
        translated(["run", "--data"])
    with pytest.raises(UserError, match="--metadata goes without"):
        translated(["run", "--data", "gsm", "--metadata", "{}"])
