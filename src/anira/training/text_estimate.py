"""What a run on text will take, said before it begins: FLOPs, memory of each process and hours.

print("\\n".join(text_estimate_lines(preset("gsm-anira-o"), processes=4)))
"""

from anira.config.machine import size
from anira.training.config import TrainConfig
from anira.training.estimate import COUNTED, FLOAT32, SUSTAINED, RunEstimate, estimate


def text_estimate_lines(config: TrainConfig, *, processes: int = 1) -> list[str]:
    """Return lines for people; the work is shared by so many processes, each with a device."""
    found = estimate(config)
    rows = f"{config.batch_size} x {config.max_length}"
    decider = f", {found.decider_parameters / 1e6:.1f}M of which decide" if found.decider_parameters else ""
    return [
        f"{config.preset}: {found.parameters / 1e6:,.1f}M parameters{decider}; {found.tokens / 1e6:,.1f}M tokens in "
        f"{config.steps:,} steps of {rows}; {found.flops:.1e} FLOPs",
        _memory(config, found, processes),
        f"time: {_hours(found, processes)}, at an assumed "
        + ", ".join(f"{speed:.1e} FLOP/s on {name}" for name, speed in SUSTAINED.items()),
        COUNTED,
    ]


def _memory(config: TrainConfig, found: RunEstimate, processes: int) -> str:
    """Say what one process needs; a part of a step's rows is shared out to all of them."""
    kept = found.activation_bytes // processes
    shared = f" ({size(found.state_bytes / processes)} sharded)" if processes > 1 else ""
    frozen = "; less for what is frozen" if config.lora or config.frozen != "nothing" else ""
    return (
        f"memory of each process: {size(found.state_bytes)}{shared} for weights, gradients and moments, "
        f"{size(kept)} for a part of a step in float32, about half in bfloat16{frozen}"
    )


def _hours(found: RunEstimate, processes: int) -> str:
    hours = {name: found.hours(speed, FLOAT32[name]) for name, speed in SUSTAINED.items()}
    if processes > 1:  # processes have a GPU each
        return f"{_duration(hours['an A100'] / processes)} on {processes} A100s"
    return ", ".join(f"{_duration(value)} on {name}" for name, value in hours.items())


def _duration(hours: float) -> str:
    """Write hours, or minutes and seconds where they are few.

    >>> _duration(81.84), _duration(0.05), _duration(0.001)
    ('82 h', '3 min', '4 s')
    """
    if hours >= 1:
        return f"{hours:,.1f} h" if hours < 10 else f"{hours:,.0f} h"
    return f"{hours * 60:.0f} min" if hours * 60 >= 1 else f"{hours * 3600:.0f} s"
