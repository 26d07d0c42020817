"""The training loop. Read it from top to bottom: `train` is one run."""

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from accelerate import Accelerator
from torch import Tensor

from anira.config import Interrupted, config_hash
from anira.config.strict import run_id, stored_values
from anira.models import AniraForCausalLM, AniraOutput
from anira.models.noise import step_noise
from anira.models.precision import choose_dtype
from anira.training.checkpoint import keep_last, latest_checkpoint, load_checkpoint, save_checkpoint
from anira.training.config import TrainConfig
from anira.training.data import Batch
from anira.training.evaluating import check_ahead
from anira.training.finite import FiniteSteps, NonFiniteError, NonFinitePlan, agreed, all_finite
from anira.training.interrupts import Interrupts
from anira.training.lora import add_adapters
from anira.training.optimizer import make_optimizer
from anira.training.run import NO_METRICS, MetricsFile
from anira.training.sharding import follow, leading, shard, sharding_wanted
from anira.training.source import Source, TaskSource
from anira.training.stages import freeze, init_weights
from anira.training.text_source import TextSource
from anira.training.trackers import Tracker

Report = Callable[[dict[str, Any]], None]
"""Takes the lines of metrics.jsonl, and {"kind": "interrupt"} when a signal asks to stop."""


@dataclass
class _Run:
    """Everything that a run holds while it runs."""

    config: TrainConfig
    folder: Path
    accelerator: Accelerator
    model: AniraForCausalLM
    call: Callable[..., AniraOutput]
    optimizer: torch.optim.Optimizer
    source: Source
    metrics: MetricsFile
    report: Report
    finite: FiniteSteps
    rates: Sequence[float]
    """What the learning rate of each group of weights is multiplied by."""
    waited: float = 0.0
    """Seconds that steps since the last line of metrics have waited for data."""


def train(
    config: TrainConfig,
    folder: str | Path,
    *,
    resume: bool,
    report: Report,
    trackers: list[Tracker],
    non_finite: NonFinitePlan = "stop",
    on_step: Callable[[int], None] = lambda step: None,
) -> None:
    """Train from the start, or from the last checkpoint in `folder`, to the last step; evaluate; store everything.

    Rows of tasks and noise are addressed by step, and text by a place in it, so a step number, that place, weights and
    the optimizer are all the state there is: a run that was killed at any moment goes on to identical weights and
    metrics. A signal raises Interrupted after the step in progress and its checkpoint. A loss or gradient that is not
    finite raises NonFiniteError, or is left out and counted; without any, `non_finite` changes nothing. `on_step` is
    told the number of every step that is over.
    """
    run = _set_up(config, Path(folder), report, trackers, non_finite, resume=resume)
    step = logged = _resume(run) if resume else 0
    seconds = 0.0
    with Interrupts(lambda: report({"kind": "interrupt"})) as interrupts:
        while step < config.steps:
            step += 1
            started = time.perf_counter()
            outputs = list(_descend(run, step))
            seconds += time.perf_counter() - started
            on_step(step)
            if run.accelerator.device.type == "cpu":  # others are not waited for: the next line or checkpoint finds it
                _check_finite(run, step)
            if step % config.log_every == 0 or step == config.steps:
                _log(run, step, outputs, seconds / (step - logged), run.waited / seconds)
                logged, seconds, run.waited = step, 0.0, 0.0
            if step % config.eval_every == 0 and step < config.steps:
                _evaluate(run, step, f"step-{step:06d}", config.eval_count)
            stop = _asked_anywhere(run, interrupts)
            if step % config.checkpoint_every == 0 or step == config.steps or stop:
                _save(run, step)
            if stop:
                raise Interrupted(stop)
    _evaluate(run, step, "final", config.final_count)
    if run.accelerator.is_main_process:
        run.metrics.finish(run_id(stored_values(run.config)))


def _set_up(
    config: TrainConfig,
    folder: Path,
    report: Report,
    trackers: list[Tracker],
    non_finite: NonFinitePlan,
    *,
    resume: bool,
) -> _Run:
    if config.threads is not None:
        torch.set_num_threads(config.threads)
    accelerator = Accelerator(mixed_precision="no")  # precision is ours: accelerate can have only one in a process
    shape = config.model_config()
    with torch.random.fork_rng():
        torch.manual_seed(config.seed)
        model = AniraForCausalLM(shape)
    if config.precision == "float64":
        model = model.double()
    if not resume or latest_checkpoint(folder) is None:
        init_weights(config, model, folder.parent.parent)
    add_adapters(model, config.lora, config.seed)
    freeze(config, model)
    model.train()
    wrapped = _spread(model, accelerator, config)
    optimizer, rates = make_optimizer(config, model)
    call = _compiled(wrapped) if config.compile else wrapped
    rank, world = accelerator.process_index, accelerator.num_processes
    make_source = TaskSource if config.text is None else TextSource
    source: Source = make_source(config, model.policy.noise_width, rank=rank, world=world)
    metrics = MetricsFile(folder / "metrics.jsonl", trackers)
    finite = FiniteSteps(optimizer, accelerator.device, non_finite)
    return _Run(
        config,
        folder,
        accelerator,
        model,
        call,
        optimizer,
        source,
        metrics,
        report,
        finite,
        rates,
    )


def _compiled(model: torch.nn.Module) -> Callable[..., AniraOutput]:
    """Return a model that is compiled when it is first called: one graph for all batches, whose sizes differ.

    Its floats, such as the norms' epsilon, never change. Taken for variables, all of it would be compiled twice.
    """
    constants = torch._dynamo.config.patch(specialize_float=True)
    compiled: Callable[..., AniraOutput] = constants(torch.compile(model, dynamic=True))
    return compiled


def _spread(model: AniraForCausalLM, accelerator: Accelerator, config: TrainConfig) -> torch.nn.Module:
    """Bring a model to the devices: a copy to each (DDP), or parts (FSDP). Return what to call in training."""
    kind = accelerator.device.type
    half = config.precision != "float64" and choose_dtype(config.precision, accelerator.device) == torch.bfloat16
    if half:
        model.forward = torch.autocast(kind, torch.bfloat16)(model.forward)
    if sharding_wanted():
        shard(model, accelerator, half=half)
        return model
    wrapped: torch.nn.Module = accelerator.prepare_model(model.to(accelerator.device))
    return wrapped


def _resume(run: _Run) -> int:
    checkpoint = latest_checkpoint(run.folder)
    if checkpoint is None:
        loop = {"step": 0, **NO_METRICS}
    else:
        loop = load_checkpoint(checkpoint, run.model, run.optimizer, config_hash(run.config))
    if run.accelerator.is_main_process:
        run.metrics.rewind(loop)
        check_ahead(run.folder, run.config, loop["step"])
    run.source.load_state(loop)
    run.finite.before = int(loop.get("skipped_steps", 0))
    return int(loop["step"])


def _descend(run: _Run, step: int) -> Iterator[tuple[Batch, AniraOutput]]:
    """Take one optimizer step; yield the parts of its batch with what the model gave for them."""
    accelerator, losses = run.accelerator, []
    sums: list[Mapping[str, Tensor]] = []
    for group, rate in zip(run.optimizer.param_groups, run.rates, strict=True):
        group["lr"] = rate * learning_rate(run.config, step)
    call = _StepCall(run, step)
    for batch in _timed(run, run.source.step(step)):
        output = call(batch)
        assert output.loss is not None
        # Processes average their gradients, but each part's loss is already its share of the whole batch's.
        accelerator.backward(output.loss * accelerator.num_processes)
        losses.append(output.loss.detach())
        sums.append(output.mean_sums or {})
        yield batch, output
    norm = accelerator.clip_grad_norm_(run.model.parameters(), run.config.clip)
    run.finite.judge(torch.stack(losses).sum(), norm)
    run.optimizer.step()
    run.optimizer.zero_grad()
    policy = run.model.policy
    policy.after_step(call.means or (_means(run, sums, batch) if policy.uses_global_means else {}))


class _StepCall:
    """Calls the model on the parts of one step's batch, with what they have in common."""

    def __init__(self, run: _Run, step: int) -> None:
        config, policy, device = run.config, run.model.policy, run.accelerator.device
        self.run, self.device = run, device
        progress = torch.tensor(step / config.steps)
        noise = step_noise(seed=config.seed, step=step, width=policy.step_noise_width)
        self.shared: dict[str, Any] = {"gamma_scale": torch.tensor(gamma_scale(config, step)).to(device)}
        if policy.step_noise_width:
            self.shared |= {"step_noise": noise.to(device), "max_depth": policy.depth_for_step(noise, progress)}
        if policy.uses_progress:
            self.shared["progress"] = progress.to(device)
        self.means = self._global_means(step)

    def __call__(self, batch: Batch) -> AniraOutput:
        """Return what the model gives for one part."""
        return self.run.call(**batch.arguments(self.device), **self.shared, global_means=self.means)

    @torch.no_grad()
    def _global_means(self, step: int) -> dict[str, Tensor] | None:
        """Go over all parts of a batch for the means that the policy's loss needs, where there are several parts."""
        run = self.run
        if not run.model.policy.uses_global_means or run.config.accumulation * run.accelerator.num_processes == 1:
            return None
        self.means, parts = None, []
        for batch in run.source.step(step):
            parts.append((batch, self(batch).mean_sums or {}))
        return _means(run, [sums for _, sums in parts], parts[0][0])


def _means(run: _Run, sums: Sequence[Mapping[str, Tensor]], batch: Batch) -> dict[str, Tensor]:
    """Return the means over the global batch, from the sums over its parts."""
    found = {name: torch.stack([part[name] for part in sums]).sum(0) for name in sums[0]}
    count = batch.num_valid_tokens.to(run.accelerator.device)
    return {name: run.accelerator.reduce(value, "sum") / count for name, value in found.items()}


def _timed(run: _Run, batches: Iterator[Batch]) -> Iterator[Batch]:
    """Yield the batches, noting how long they were waited for."""
    while True:
        started = time.perf_counter()
        batch = next(batches, None)
        run.waited += time.perf_counter() - started
        if batch is None:
            return
        yield batch


def _asked_anywhere(run: _Run, interrupts: Interrupts) -> int:
    """Return the signal that asked any process to stop, or 0: all must stop after the same step."""
    if run.accelerator.num_processes == 1:
        return interrupts.asked
    return int(agreed(torch.tensor(float(interrupts.asked), device=run.accelerator.device)))


def _check_finite(run: _Run, step: int, *, state: bool = False) -> None:
    """Raise NonFiniteError if a step was not finite and that is to stop the run; with `state`, look at the weights too.

    A rate that is far too high can overflow a weight whose gradient was finite.
    """
    why = run.finite.failure(step)
    moments = (value for parameter in run.optimizer.state.values() for value in parameter.values())
    if state and not why and not all_finite([*run.model.parameters(), *moments]):
        why = f"the weights after step {step} are not finite"
    if why:
        last = latest_checkpoint(run.folder)
        kept = "there is no checkpoint before it" if last is None else f"the last good checkpoint is {last}"
        skip = ", or leave such steps out with --non-finite skip" if run.finite.plan == "stop" else ""
        raise NonFiniteError(f"{why}, and {kept}: lower --learning-rate{skip}")


def learning_rate(config: TrainConfig, step: int) -> float:
    """Return the rate of a step: a linear warm-up, then constant, or falling to zero just after the last step."""
    rate = config.learning_rate * min(1.0, step / max(config.warmup_steps, 1))
    if config.schedule == "constant" or step <= config.warmup_steps:
        return rate
    start = max(config.warmup_steps, config.steps - round(config.decay_share * config.steps))
    return rate if step <= start else rate * (config.steps + 1 - step) / (config.steps + 1 - start)


def gamma_scale(config: TrainConfig, step: int) -> float:
    """Return what the compute weight is multiplied with at a step."""
    return min(1.0, step / config.gamma_warmup_steps) if config.gamma_warmup_steps else 1.0


def _log(run: _Run, step: int, outputs: list[tuple[Batch, AniraOutput]], seconds: float, data_share: float) -> None:
    """Write a line about a step; its timing is the mean over the steps since the last line.

    A loss that is not finite, of a step that was left out, is null.
    """
    _check_finite(run, step)
    sums = torch.stack([_sums(batch, output) for batch, output in outputs]).sum(0)
    names = list(outputs[0][1].losses or {})
    sums = run.accelerator.reduce(sums, "sum")
    losses = dict(zip(names, sums[7:].tolist(), strict=True))
    right, answers, answer_depth, prompts, prompt_depth, tokens, all_depth = sums[:7].tolist()
    gamma = run.config.model["policy"].get("gamma")
    line = {
        "kind": "train",
        "step": step,
        "loss": _or_none(sum(losses.values())),
        **{name: _or_none(loss) for name, loss in losses.items()},
        "accuracy": right / max(answers, 1),
        "depth_answer": answer_depth / max(answers, 1),
        **({"depth_prompt": prompt_depth / max(prompts, 1)} if run.config.text is None else {}),
        "depth_all": all_depth / max(tokens, 1),
        "learning_rate": learning_rate(run.config, step),
        **({} if gamma is None else {"gamma": gamma * gamma_scale(run.config, step)}),
        "tokens_per_second": tokens / seconds,
        "seconds": seconds,
        "data_share": data_share,
        **run.source.figures(),
        **run.finite.counted(),
    }
    _publish(run, line)


def _or_none(loss: float) -> float | None:
    return loss if math.isfinite(loss) else None


def _publish(run: _Run, line: dict[str, Any]) -> None:
    if run.accelerator.is_main_process:
        run.metrics.write(line)
        run.report(line)


@torch.no_grad()
def _sums(batch: Batch, output: AniraOutput) -> Tensor:
    """Return what `_log` averages: right answers; positions that predict answers, others, and all, each with depths."""
    assert output.logits is not None and output.exit_depth is not None and output.losses is not None
    device, depth = output.logits.device, output.exit_depth[0].double()
    answers = batch.answers.to(device)
    right = output.logits[0].argmax(-1) == batch.labels[0].to(device)[answers + 1]
    answer, last, every = (torch.zeros_like(depth, dtype=torch.bool) for _ in range(3))
    answer[answers] = True
    last[batch.lengths.to(device).cumsum(0) - 1] = True
    # As in the records, the last position of a row predicts nothing and is neither answer nor prompt.
    kinds = [part for kind in (answer, ~answer & ~last, ~every) for part in (kind.sum(), depth[kind].sum())]
    return torch.stack([part.double() for part in (right.sum(), *kinds, *output.losses.values())])


def _evaluate(run: _Run, step: int, name: str, count: int) -> None:
    """Evaluate on the main process; the others help where the model is sharded, and else go on to wait for it."""
    _check_finite(run, step, state=True)
    sharded = sharding_wanted()
    if run.accelerator.is_main_process:
        with leading(run.model) if sharded else nullcontext():
            figures = run.source.evaluate(run.model, step, count, run.folder / "records" / name)
        for figure in figures:
            _publish(run, {"kind": "eval", "step": step, **figure})
    elif sharded:
        follow(run.model)


def _save(run: _Run, step: int) -> None:
    _check_finite(run, step, state=True)
    run.accelerator.wait_for_everyone()
    main = run.accelerator.is_main_process
    loop = {
        "step": step,
        "config_hash": config_hash(run.config),
        **run.source.state(),
        **(run.metrics.state() if main else {}),
        **run.finite.counted(),
    }
    folder = run.folder / "checkpoints" / f"step-{step}"
    save_checkpoint(folder, run.model, run.optimizer, run.source.vocab, loop, write=main)
    if main:
        keep_last(run.folder / "checkpoints", 2)
