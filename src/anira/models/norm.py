"""The norm of all layers."""

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from anira.models.exits import at_least_float32


def _unit(x: Float[Tensor, "*tokens dim"], eps: float) -> tuple[Tensor, Tensor]:
    """Return x divided by its root mean square, and what it was multiplied with to get there."""
    square = torch.linalg.vector_norm(x, dim=-1, keepdim=True).square_()
    scale = torch.rsub(square, eps, alpha=-1 / x.shape[-1]).rsqrt_()  # eps + square / dim in one operation
    return x * scale, scale


class _Norm(torch.autograd.Function):
    """The norm below, with half as many operations in the backward pass as autograd would need."""

    @staticmethod
    def forward(ctx: Any, x: Float[Tensor, "*tokens dim"], weight: Float[Tensor, " dim"], eps: float) -> Tensor:
        unit, scale = _unit(x, eps)
        ctx.save_for_backward(unit, weight, scale)
        return unit * weight

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor, None]:
        unit, weight, scale = ctx.saved_tensors
        d_weight = gradient * unit
        along = (d_weight @ weight).unsqueeze(-1) / weight.shape[0]  # what would change the length alone
        return (gradient * weight).addcmul_(unit, -along).mul_(scale), d_weight.flatten(0, -2).sum(0), None


class RMSNorm(nn.Module):
    """Root mean square norm, inside in float32 or better. (Llama's own casts float64 down; exactness tests need it.)

    `stock`: in the order of operations of Hugging Face's Llama, for models that must equal one of those to the last
    bit.
    """

    def __init__(self, hidden_size: int, eps: float, *, stock: bool = False) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(hidden_size))
        self.eps, self.stock = eps, stock

    def forward(self, x: Float[Tensor, "*tokens dim"]) -> Float[Tensor, "*tokens dim"]:
        """Return x divided by its root mean square, times the weight."""
        weight = self.weight.to(x.dtype)  # of a sharded model in mixed precision it comes in bfloat16, x in float32
        if self.stock:
            wide = at_least_float32(x)
            return weight * (wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + self.eps)).to(x.dtype)
        # torch has a kernel for some devices, and compilers fuse the plain form; the rest is left to us.
        if x.is_cpu and x.dtype in (torch.float32, torch.float64) and not torch.compiler.is_compiling():
            if not torch.is_grad_enabled():
                return _unit(x, self.eps)[0].mul_(weight)
            y: Tensor = _Norm.apply(x, weight, self.eps)
            return y
        return nn.functional.rms_norm(x, weight.shape, weight, self.eps)
