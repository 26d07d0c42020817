"""The small network that both ANIRA policies decide with (paper, appendix on configuration)."""

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from anira.models.exits import at_least_float32


class Decider(nn.Module):
    """LayerNorm, Linear without bias, SiLU, Linear with bias; in float32 or better whatever the model's precision."""

    def __init__(self, config: Any, outputs: int, *, detach: bool, bias: float) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(config.hidden_size)
        self.up = nn.Linear(config.hidden_size, config.intermediate_size, bias=False)
        self.out = nn.Linear(config.intermediate_size, outputs, bias=True)
        self.detach = detach
        self.bias = bias

    def forward(self, h: Float[Tensor, "*tokens dim"]) -> Float[Tensor, "*tokens outputs"]:
        """Return the logits of the decision for every token."""
        x = at_least_float32(h.detach() if self.detach else h)
        if torch.is_autocast_enabled(h.device.type):
            with torch.autocast(h.device.type, enabled=False):
                return self._decide(x)
        return self._decide(x)

    def _decide(self, x: Float[Tensor, "*tokens dim"]) -> Float[Tensor, "*tokens outputs"]:
        x = nn.functional.layer_norm(x, self.norm.normalized_shape, *self._cast(x, self.norm), self.norm.eps)
        x = nn.functional.linear(x, *self._cast(x, self.up))
        return nn.functional.linear(nn.functional.silu(x), *self._cast(x, self.out))

    @staticmethod
    def _cast(x: Tensor, module: nn.LayerNorm | nn.Linear) -> tuple[Tensor, Tensor | None]:
        bias = None if module.bias is None else module.bias.to(x.dtype)
        return module.weight.to(x.dtype), bias

    def flops(self) -> int:
        """Return twice the multiply-adds of one decision."""
        return 2 * (self.up.weight.numel() + self.out.weight.numel())
