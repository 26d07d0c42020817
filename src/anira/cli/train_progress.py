"""How a training run stands: a bar on a terminal, plain lines in a log. On stderr."""

import time
from contextlib import suppress
from typing import Any, Self

from anira.cli.progress import Bar

_SECONDS_BETWEEN_LINES = 10.0
_STOPPING = "stopping after this step, with a checkpoint; Ctrl-C again stops at once"


class TrainProgress:
    """Takes what `train` reports and shows the essence of it."""

    def __init__(self, steps: int) -> None:
        self.steps, self._bar = steps, Bar(steps)
        self._last = -_SECONDS_BETWEEN_LINES
        self._text = ""
        self._evaluation: list[dict[str, Any]] = []

    def __enter__(self) -> Self:
        self._bar.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self._flush_evaluation()
        self._bar.__exit__(*error)

    def step(self, step: int) -> None:
        """Move the bar, so that it has a time that remains from the first steps on."""
        self._bar.move(step, self._text)

    def line(self, line: dict[str, Any]) -> None:
        """Take one line."""
        if line["kind"] == "interrupt":
            with suppress(RuntimeError):  # Ctrl-C came while another line was written, which cannot be cut into
                self._bar.print(_STOPPING)
            return
        if line["kind"] == "eval":
            self._evaluation.append(line)
            return
        self._flush_evaluation()
        text, now = train_text(line), time.monotonic()
        self._text = text
        if self._bar.move(line["step"], text):
            return
        if now - self._last >= _SECONDS_BETWEEN_LINES or line["step"] == self.steps:
            self._last = now
            self._bar.print(f"step {line['step']:>6} of {self.steps}  {text}")

    def _flush_evaluation(self) -> None:
        if self._evaluation:
            self._bar.print(evaluation_text(self._evaluation))
            self._evaluation = []


def train_text(line: dict[str, Any]) -> str:
    """Write the numbers of a training line shortly."""
    depths = f"depth {line['depth_answer']:.2f}"
    if "depth_prompt" in line:  # text has no prompts: all of it is to be predicted
        depths += f" answer, {line['depth_prompt']:.2f} prompt"
    loss = "not finite" if line["loss"] is None else f"{line['loss']:.3f}"
    skipped = f"  steps left out: {line['skipped_steps']}" if line.get("skipped_steps") else ""
    speed = f"{line['tokens_per_second']:,.0f} tokens/s"
    return f"loss {loss}  accuracy {line['accuracy']:.2f}  {depths}  {speed}{skipped}"


def evaluation_text(lines: list[dict[str, Any]]) -> str:
    """Write an evaluation as one line per number, the knobs side by side; each subtask has a block of its own."""
    if "knob" not in lines[0]:
        return validation_text(lines[0])
    blocks = [f"evaluation at step {lines[0]['step']}"]
    for subtask in dict.fromkeys(line.get("subtask", "") for line in lines):
        own = [line for line in lines if line.get("subtask", "") == subtask]
        head = [f"  {subtask}"] if subtask else []
        blocks += [*head, "  knob         " + "".join(f"{line['knob']:>7}" for line in own)]
        for name, label in (("accuracy", "accuracy"), ("depth_answer", "answer depth")):
            blocks.append(f"  {label:13}" + "".join(f"{line[name]:>7.2f}" for line in own))
    return "\n".join(blocks)


def validation_text(line: dict[str, Any]) -> str:
    """Write a validation on text shortly.

    >>> validation_text({"step": 5, "tokens": 4096, "loss": 2.5, "accuracy": 0.4, "depth_answer": 3.1})
    'validation at step 5: loss 2.500, accuracy 0.40, depth 3.10, on 4,096 tokens'
    """
    numbers = f"loss {line['loss']:.3f}, accuracy {line['accuracy']:.2f}, depth {line['depth_answer']:.2f}"
    return f"validation at step {line['step']}: {numbers}, on {line['tokens']:,} tokens"
