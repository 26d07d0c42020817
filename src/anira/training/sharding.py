"""FSDP: a model whose parameters are spread over the processes of a run, as an accelerate configuration asks for.

Each layer is a unit: its parameters are gathered when it is called and given back when it is done, however often the
iterations of a shared core call it. What is left (embedding, head, policy) is gathered once a forward pass. A call of
the model is therefore a joint one: if one process calls it, all must.
"""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from accelerate import Accelerator
from accelerate.utils import (
    FullyShardedDataParallelPlugin,
    broadcast_object_list,
    parse_flag_from_env,
    send_to_device,
)
from torch import Tensor
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import CPUOffloadPolicy, FSDPModule, MixedPrecisionPolicy, fully_shard
from torch.distributed.tensor import DTensor, distribute_tensor

from anira.config import UserError
from anira.models import AniraForCausalLM


def sharding_wanted() -> bool:
    """Say whether `accelerate launch` was given a configuration with FSDP, and there are processes to spread over."""
    return parse_flag_from_env("ACCELERATE_USE_FSDP") and torch.distributed.is_initialized()


def shard(model: AniraForCausalLM, accelerator: Accelerator, *, half: bool) -> None:
    """Spread a model over the processes, in place; each unit goes to the device on its own, so the whole never does.

    `half`: the model computes under autocast to bfloat16. Layers are then gathered in it; the rest is not, and no
    input is cast, because deciders, noise and counts need float32.
    """
    plugin = _settings()
    if plugin.activation_checkpointing:
        model.gradient_checkpointing_enable({"use_reentrant": False})
    mesh = init_device_mesh(accelerator.device.type, (accelerator.num_processes,))
    precision = MixedPrecisionPolicy(
        param_dtype=torch.bfloat16 if half else None,
        reduce_dtype=torch.float32 if half else None,
        cast_forward_inputs=False,
    )
    for layer in (*model.model.prelude, *model.model.core, *model.model.coda):
        fully_shard(layer, mesh=mesh, mp_policy=precision, reshard_after_forward=plugin.reshard_after_forward)
    fully_shard(model, mesh=mesh, mp_policy=MixedPrecisionPolicy(cast_forward_inputs=False))
    # Outputs of the model are views of each other's memory, which is harmless: nobody changes them in place.
    warnings.filterwarnings("ignore", message="FSDP2-wrapped module .* returned a view tensor")


def _settings() -> FullyShardedDataParallelPlugin:
    """Return what the accelerate configuration says; what cannot be done is refused, not ignored."""
    plugin = FullyShardedDataParallelPlugin()
    if plugin.fsdp_version != 2:
        raise UserError("FSDP of version 1 is not supported: write fsdp_version: 2 in the accelerate configuration")
    if isinstance(plugin.cpu_offload, CPUOffloadPolicy) or plugin.activation_checkpointing_offload:
        raise UserError("FSDP with offloading is not supported: leave it out of the accelerate configuration")
    return plugin


def gathered(tensors: dict[str, Tensor], *, keep: bool) -> dict[str, Tensor]:
    """Return tensors whole, in the CPU's memory; all processes take part, and those without `keep` get nothing."""

    def whole(tensor: Tensor) -> Tensor | None:
        full = tensor.full_tensor() if isinstance(tensor, DTensor) else tensor
        return full.detach().cpu() if keep else None

    # One after the other, and tied weights, which are one tensor with two names, only once.
    wholes = {tensor: whole(tensor) for tensor in dict.fromkeys(tensors.values())}
    kept = {name: wholes[tensor] for name, tensor in tensors.items()}
    return {name: tensor for name, tensor in kept.items() if tensor is not None}


def spread_like(value: Tensor, like: Tensor) -> Tensor:
    """Return a whole tensor as `like` is: on its device, and this process's part of it if that is spread."""
    if isinstance(like, DTensor) and value.shape == like.shape:
        return distribute_tensor(value, like.device_mesh, like.placements, src_data_rank=None)
    return value.to(like.device)


@contextmanager
def leading(model: AniraForCausalLM) -> Iterator[None]:
    """While the block runs, the other processes, which `follow`, make every call of the model that this one makes.

    So one process alone decides what is called, and a sharded model is never whole anywhere.
    """

    def tell(module: torch.nn.Module, args: Any, kwargs: Any) -> None:
        broadcast_object_list([send_to_device((args, kwargs), "cpu")])

    hook = model.register_forward_pre_hook(tell, with_kwargs=True, prepend=True)
    try:
        yield
    finally:
        hook.remove()
        broadcast_object_list([None])
        _give_back(model)


@torch.no_grad()
def follow(model: AniraForCausalLM) -> None:
    """Make the calls that the main process makes, until it has left its block."""
    training = model.training
    model.eval()
    while (call := broadcast_object_list([None])[0]) is not None:
        args, kwargs = send_to_device(call, model.device)
        model(*args, **kwargs)
    model.train(training)
    _give_back(model)


def _give_back(model: AniraForCausalLM) -> None:
    """Free what a forward pass leaves gathered for a backward pass that does not come."""
    for module in model.modules():
        if isinstance(module, FSDPModule):
            module.reshard()
