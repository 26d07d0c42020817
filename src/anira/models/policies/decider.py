"""The small network that both ANIRA policies decide with (paper, appendix on configuration)."""

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from anira.config import UserError
from anira.models.exits import at_least_float32
from anira.models.host import looking_is_free


class Decider(nn.Module):
    """LayerNorm, Linear without bias, SiLU, Linear with bias.

    Hugging Face keeps a policy's weights in float32 however a model is loaded, so decisions are made in float32 or
    better. Under autocast the first matrix, nearly all of the work, is multiplied in autocast's format like those of a
    layer; all else stays in float32. The parts are called as modules: adapters, quantised layers and offloading hooks
    take their place.
    """

    def __init__(self, config: Any, outputs: int, *, detach: bool, bias: float, zero: bool) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(config.hidden_size)
        self.up = nn.Linear(config.hidden_size, config.intermediate_size, bias=False)
        self.out = nn.Linear(config.intermediate_size, outputs, bias=True)
        self.detach = detach
        self.bias, self.zero = bias, zero  # of the last layer at the start

    def start(self) -> None:
        """Set the last layer's bias, and its matrix to zeros if so asked: a policy's `init_weights` calls this."""
        nn.init.constant_(self.out.bias, self.bias)
        if self.zero:
            nn.init.zeros_(self.out.weight)

    def forward(self, h: Float[Tensor, "*tokens dim"]) -> Float[Tensor, "*tokens outputs"]:
        """Return the logits of the decision for every token."""
        x = (h.detach() if self.detach else h).to(self.norm.weight.dtype)
        wide = self.up(self.norm(x)).to(x.dtype)
        if torch.is_autocast_enabled(h.device.type):
            with torch.autocast(h.device.type, enabled=False):
                logits = self.out(nn.functional.silu(wide))
        else:
            logits = self.out(nn.functional.silu(wide))
        if not self.training and looking_is_free(logits):
            _check_numbers(logits)  # a training loop looks at the loss instead
        return at_least_float32(logits)

    def flops(self) -> int:
        """Return twice the multiply-adds of one decision."""
        return 2 * self.up.out_features * self.up.in_features + self.float32_flops()

    def float32_flops(self) -> int:
        """Return how much of that stays in float32 under autocast: the last matrix."""
        return 2 * self.up.out_features * self.out.out_features


def _check_numbers(logits: Tensor) -> None:
    """Refuse NaN, which no rule can turn into a depth."""
    if bool(logits.isnan().any()):
        raise UserError("the decider's output is not a number: the model's weights hold NaN, or its states overflow")
