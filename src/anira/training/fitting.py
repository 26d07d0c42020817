"""Whether a run fits, into its own limits and into the machine: found before anything of it exists.

What is compared with the memory is about the least that is needed, by the counts of `estimate` without deciders and
decisions: what is refused could not have run.
"""

from collections.abc import Sequence
from typing import Final

import torch

from anira.config import UserError
from anira.config.machine import check_room
from anira.evaluation import evaluated_cells
from anira.inference import Cost
from anira.inference.cost import layer_flops
from anira.models import AniraConfig
from anira.models.precision import choose_dtype
from anira.tasks import Task
from anira.training.config import TrainConfig
from anira.training.data import Batches, check_lengths, check_shares
from anira.training.estimate import activation_bytes
from anira.training.run import process
from anira.training.sharding import sharding_wanted
from anira.training.text_presets import check_start
from anira.training.text_source import check_text

_MOST_LAYERS: Final = 1000  # a bound against typing errors; building so many takes minutes already
_ROW: Final = 16  # bytes of a token in rows as they are made: ids and labels, in blocks and put together
_RECORD: Final = 100  # bytes of a token in an evaluation, its probabilities of depths aside


def check_fits(config: TrainConfig) -> None:
    """Raise a UserError if a run could not be made here: its rows, its model, a step or an evaluation of it."""
    if config.text is not None:
        _check_text_fits(config)
        return
    here, task = process(), config.make_task()
    Batches(task, config, 0, world=here.num_processes)  # refuses a batch that cannot be shared out
    # Rows are made a block at a time anyway, and in a block the longest row is longer than in a batch.
    block = task.rows(seed=config.seed, stream="train", start=0, count=task.block)
    longest = check_lengths(block, config.max_length)
    check_room(config.batch_size * longest * _ROW, f"a batch of {config.batch_size} rows")
    shape = config.make_model_config(task)
    _check_step(config, shape, float(block.lengths.mean()))  # nothing is padded
    check_evaluation(evaluated_cells(task, None), max(config.eval_count, config.final_count), shape.max_depth)


def _check_text_fits(config: TrainConfig) -> None:
    """Do the same for a run on text."""
    check_start(config)
    check_shares(config, process().num_processes)
    check_text(config)
    _check_step(config, config.model_config(), config.max_length)


def _check_step(config: TrainConfig, shape: AniraConfig, length: float) -> None:
    """Raise a UserError if a model, or a step on rows of this mean length, does not fit into the device."""
    here, share = process(), config.batch_size // process().num_processes // config.accumulation
    half = config.precision != "float64" and choose_dtype(config.precision, here.device) == torch.bfloat16
    wide = 2 if config.precision == "float64" else 1
    state = wide * state_bytes(shape) // (here.num_processes if sharding_wanted() else 1)
    tokens = round(share * length)
    # Where a model is sharded, layers may be computed twice instead of being kept.
    kept = 0 if sharding_wanted() else wide * step_bytes(shape, tokens) // (2 if half else 1)
    widths = f"hidden_size {shape.hidden_size} and intermediate_size {shape.intermediate_size}"
    _check_device(state, f"a model of {widths}", here.device)
    _check_device(state + kept, f"a step of {share} rows at {widths} and max_depth {shape.max_depth}", here.device)


def _check_device(needed: int, what: str, device: torch.device) -> None:
    if device.type == "cuda":
        check_room(needed, what, torch.cuda.get_device_properties(device).total_memory, str(device))
    else:
        check_room(needed, what)


def check_evaluation(cells: Sequence[tuple[Task, int]], count: int, max_depth: int) -> None:
    """Raise a UserError if the records of so many instances do not fit; they are made for one knob at a time."""
    part, knob = max(cells, key=lambda cell: cell[1])
    tokens = int(part.rows(seed=0, stream="eval", start=0, count=1, knob=knob).lengths[0])
    check_room(count * tokens * (_RECORD + 8 * max_depth), f"an evaluation of {count} instances of each knob")


def state_bytes(shape: AniraConfig) -> int:
    """Return what weights, gradients and both moments of AdamW take in float32, the policy's aside."""
    if shape.num_hidden_layers > _MOST_LAYERS:
        raise UserError(f"a model can have {_MOST_LAYERS} layers of its own, not {shape.num_hidden_layers}")
    embedding = (1 if shape.tie_word_embeddings else 2) * shape.vocab_size * shape.hidden_size
    return 16 * (embedding + shape.num_hidden_layers * layer_flops(shape) // 2)


def step_bytes(shape: AniraConfig, tokens: int) -> int:
    """Return what a step keeps of so many tokens for its backward pass, decisions aside."""
    return activation_bytes(shape, Cost(tokens, tokens * shape.max_depth, 0, 0, 0, 0, 0))
