"""The objective as the loop wires it: parts, schedules, statistics, recomputed here from the model."""

import pytest
import torch
from tests.training_support import assert_close_runs, begin, metrics, resume, tiny_config, train_tiny, weights

from anira.models import AniraForCausalLM
from anira.training.data import Batches
from anira.training.loop import gamma_scale, learning_rate

KEYS = {"kind", "step", "loss", "ce", "accuracy", "depth_answer", "depth_prompt", "depth_all", "learning_rate"}


def first_forward(config):
    """The first batch of a run, its model before any step, and what that says in training."""
    torch.manual_seed(config.seed)
    task = config.make_task()
    model = AniraForCausalLM(config.make_model_config(task)).train()
    (batch,) = Batches(task, config, model.policy.noise_width).step(1)
    every = {**batch.arguments(torch.device("cpu")), "logits_to_keep": 0}
    output = model(**every, gamma_scale=gamma_scale(config, 1))
    return model, batch, output


@pytest.mark.parametrize("variant", ["anira-e", "anira-o", "fixed", "unshared"])
@pytest.mark.parametrize("task", ["mano", "depo"])
def test_the_first_line_is_what_the_model_says(tmp_path, task, variant):
    config = tiny_config(f"{task}-{variant}-smoke", steps=1, log_every=1, gamma_warmup_steps=4)
    line = metrics(resume(begin(tmp_path, config)), "train")[0]
    _, batch, output = first_forward(config)
    assert line["loss"] == pytest.approx(output.loss.item(), rel=1e-5)
    for name, part in output.losses.items():
        assert line[name] == pytest.approx(part.item(), rel=1e-5)
    answer, prompt, last, right = [], [], [], 0
    ends = set((batch.lengths.cumsum(0) - 1).tolist())
    depths, labels = output.exit_depth[0].tolist(), batch.labels[0].tolist()
    for position, depth in enumerate(depths):
        if position in ends:
            last.append(depth)  # predicts nothing
            continue
        target = labels[position + 1]
        (prompt if target == -100 else answer).append(depth)
        right += target == output.logits[0, position].argmax()
    assert line["accuracy"] == pytest.approx(right / len(answer))
    assert line["depth_answer"] == pytest.approx(sum(answer) / len(answer))
    assert line["depth_prompt"] == pytest.approx(sum(prompt) / len(prompt))
    every = [*answer, *prompt, *last]
    assert line["depth_all"] == pytest.approx(sum(every) / len(every))


@pytest.mark.parametrize("variant", ["anira-e", "anira-o", "fixed", "unshared"])
def test_the_loss_is_the_sum_of_its_parts(tmp_path, variant):
    lines = metrics(train_tiny(tmp_path, f"mano-{variant}-smoke", log_every=1), "train")
    assert [line["step"] for line in lines] == list(range(1, 9))
    for line in lines:
        own = {"compute", "gamma"} if variant.startswith("anira") else set()
        assert set(line) == KEYS | own
        assert line["loss"] == pytest.approx(line["ce"] + line.get("compute", 0.0), rel=1e-12)
        if not own:
            assert {line["depth_answer"], line["depth_prompt"], line["depth_all"]} == {3.0}


def test_gamma_warms_up_in_the_metrics_and_in_the_loss(tmp_path):
    options = {"policy": {"name": "anira-o", "gamma": 0.5, "base": 2.0}}
    config = tiny_config(model=options, log_every=1, gamma_warmup_steps=4)
    lines = metrics(resume(begin(tmp_path / "warm", config)), "train")
    assert [line["gamma"] for line in lines] == pytest.approx([0.125, 0.25, 0.375, 0.5, 0.5, 0.5, 0.5, 0.5])
    constant = tiny_config(model=options, log_every=1)
    line = metrics(resume(begin(tmp_path / "constant", constant)), "train")[0]
    assert line["gamma"] == 0.5
    assert lines[0]["compute"] == pytest.approx(line["compute"] / 4, rel=1e-5)
    assert lines[0]["ce"] == line["ce"]


def test_the_learning_rate_warms_up_in_the_metrics_and_in_the_optimizer(tmp_path):
    config = tiny_config(learning_rate=0.03, warmup_steps=3, steps=5, log_every=1)
    lines = metrics(resume(begin(tmp_path / "five", config)), "train")
    assert [line["learning_rate"] for line in lines] == pytest.approx([0.01, 0.02, 0.03, 0.03, 0.03])
    one = tiny_config(learning_rate=0.03, warmup_steps=3, steps=1)
    after = weights(resume(begin(tmp_path / "one", one)))
    before = first_forward(one)[0].state_dict()
    # The first step of Adam moves every weight that has a gradient by the rate itself.
    moved = max((after[name] - before[name]).abs().max().item() for name in after)
    assert moved == pytest.approx(0.01, rel=1e-3)


def test_schedules():
    config = tiny_config(warmup_steps=4, gamma_warmup_steps=0, learning_rate=1.0)
    assert [learning_rate(config, step) for step in (1, 2, 4, 5, 10**6)] == [0.25, 0.5, 1.0, 1.0, 1.0]
    assert [gamma_scale(config, step) for step in (1, 10**6)] == [1.0, 1.0]
    assert learning_rate(tiny_config(warmup_steps=0, learning_rate=1.0), 1) == 1.0


def test_clipping_bounds_the_gradient(tmp_path):
    """Adam forgets the size of a gradient that is always scaled alike, so look at its first moment."""
    from safetensors.torch import load_file

    path = resume(begin(tmp_path, tiny_config(steps=1, clip=1e-3)))
    state = load_file(path / "checkpoints" / "step-1" / "optimizer.safetensors")
    norm = torch.cat([value.flatten() for name, value in state.items() if name.endswith("/exp_avg")]).norm()
    assert norm.item() == pytest.approx(0.1 * 1e-3, rel=1e-3)


def test_accumulated_parts_are_one_batch(tmp_path):
    short = {"steps": 3, "log_every": 1, "eval_every": 100, "checkpoint_every": 100, "final_count": 1}
    one, two, four = (
        train_tiny(tmp_path, "brevo-anira-e-smoke", precision="float64", accumulation=parts, **short)
        for parts in (1, 2, 4)
    )
    assert_close_runs(one, two, tolerance=1e-9)
    assert_close_runs(one, four, tolerance=1e-9)


def test_seeds_differ_and_a_seed_repeats(tmp_path):
    runs = [train_tiny(tmp_path / str(i), seed=seed, steps=4) for i, seed in enumerate([1, 1, 2])]
    same, again, other = (metrics(run) for run in runs)
    assert same == again
    assert same != other


def test_training_leaves_the_random_state_of_its_caller_alone(tmp_path):
    before = torch.get_rng_state()
    train_tiny(tmp_path, steps=1)
    assert torch.equal(before, torch.get_rng_state())


def test_evaluations_come_at_their_steps_and_at_the_end(tmp_path):
    path = train_tiny(tmp_path, steps=6, eval_every=2)
    assert sorted(folder.name for folder in (path / "records").iterdir()) == ["final", "step-000002", "step-000004"]
    lines = metrics(path, "eval")
    assert [line["step"] for line in lines] == [2] * 3 + [4] * 3 + [6] * 3
    assert [line["n"] for line in lines] == [4] * 6 + [6] * 3
    assert set(lines[0]) == {
        "kind",
        "step",
        "knob",
        "n",
        "accuracy",
        "depth_answer",
        "depth_prompt",
        "expected_depth_answer",
    }


def test_a_linear_schedule_falls_to_zero_after_the_last_step():
    config = tiny_config(warmup_steps=4, steps=10, learning_rate=1.0, schedule="linear")
    rates = [learning_rate(config, step) for step in range(1, 11)]
    assert rates[:4] == [0.25, 0.5, 0.75, 1.0]
    assert rates[4:] == pytest.approx([6 / 7, 5 / 7, 4 / 7, 3 / 7, 2 / 7, 1 / 7])
