"""Small models whose tokens exit at many depths, and the ways to run them that must agree."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor

from anira.models import AniraConfig, AniraForCausalLM, AniraOutput

VOCAB = 20
MAX_DEPTH = 5
TOLERANCE = 1e-9

# A wide decider and a bias against halting: an untrained one would send every token out after one iteration.
POLICIES: dict[str, dict[str, Any]] = {
    "anira-e": {"name": "anira-e"},
    "anira-o": {"name": "anira-o", "bias": -1.0},
    "fixed": {"name": "fixed"},
    "similarity": {"name": "similarity"},
    "gates": {"name": "gates"},
    "gates-running": {"name": "gates", "see": "running"},
}


def small_config(policy: str = "anira-e", **changes: Any) -> AniraConfig:
    """Return a configuration that takes milliseconds to run."""
    sizes = {"vocab_size": VOCAB, "hidden_size": 16, "intermediate_size": 24, "num_attention_heads": 2}
    return AniraConfig(**{**sizes, "max_depth": MAX_DEPTH, "policy": POLICIES[policy], **changes})


def random_model(config: AniraConfig, seed: int) -> AniraForCausalLM:
    """Return a float64 model in eval mode with weights large enough for its tokens to differ in depth."""
    model = AniraForCausalLM(config).double().eval()
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() > 1:
                parameter.normal_(0, 1.5 / parameter.shape[1] ** 0.5, generator=generator)
    if hasattr(model.policy, "decider"):
        model.policy.decider.out.weight.data *= 3  # peaked distributions: every rule then finds depths 1 and D
    return model


def random_ids(batch: int, time: int, seed: int) -> Tensor:
    return torch.randint(1, VOCAB, (batch, time), generator=torch.Generator().manual_seed(seed))


def left_padding(batch: int, time: int) -> Tensor:
    """Return an attention mask in which every row has another number of padding columns, the first one none."""
    return (torch.arange(time) >= 2 * torch.arange(batch)[:, None]).long()


@dataclass
class Case:
    """A model, tokens, and the keyword arguments of the calls; arguments in `per_token` are cut with the tokens."""

    model: AniraForCausalLM
    ids: Tensor
    mask: Tensor | None = None
    settings: dict[str, Any] = field(default_factory=dict)
    per_token: dict[str, Tensor] = field(default_factory=dict)

    @property
    def valid(self) -> Tensor:
        return torch.ones_like(self.ids, dtype=torch.bool) if self.mask is None else self.mask.bool()

    def parallel(self, **extra: Any) -> AniraOutput:
        with torch.no_grad():
            return self.model(self.ids, attention_mask=self.mask, **self.settings, **self.per_token, **extra)

    def cached(self, sizes: Sequence[int]) -> AniraOutput:
        """Run the tokens in chunks of these sizes against a cache, and join the outputs."""
        outputs: list[AniraOutput] = []
        cache, start = None, 0
        for size in sizes:
            stop = start + size
            mask = None if self.mask is None else self.mask[:, :stop]
            cut = {name: value[:, start:stop] for name, value in self.per_token.items()}
            ids = self.ids[:, start:stop]
            out = self.model(ids, mask, past_key_values=cache, use_cache=True, **self.settings, **cut)
            outputs.append(out)
            cache, start = out.past_key_values, stop
        return joined(outputs)

    def row(self, i: int) -> "Case":
        """Return one row by itself, without its padding."""
        keep = self.valid[i]
        per_token = {name: value[i : i + 1, keep] for name, value in self.per_token.items()}
        return replace(self, ids=self.ids[i : i + 1, keep], mask=None, per_token=per_token)


def joined(outputs: Sequence[AniraOutput]) -> AniraOutput:
    """Return the outputs of consecutive calls as those of one call."""

    def join(name: str) -> Tensor | None:
        parts = [getattr(out, name) for out in outputs]
        return None if parts[0] is None else torch.cat(parts, dim=1)

    names = ("logits", "exit_depth", "executed", "exit_log_probs", "expected_depth")
    return AniraOutput(**{name: join(name) for name in names}, past_key_values=outputs[-1].past_key_values)


def random_sizes(total: int, seed: int) -> list[int]:
    """Cut `total` tokens into chunks of random sizes."""
    generator = torch.Generator().manual_seed(seed)
    cuts = torch.randperm(total - 1, generator=generator)[:3].sort().values + 1
    return torch.diff(cuts, prepend=torch.tensor([0]), append=torch.tensor([total])).tolist()


def flat(out: AniraOutput, valid: Tensor) -> AniraOutput:
    """Return an output as a list of its tokens that are not padding, as one row."""
    names = ("logits", "exit_depth", "executed", "exit_log_probs", "expected_depth")
    pairs = ((name, getattr(out, name)) for name in names)
    return AniraOutput(**{name: None if value is None else value[valid][None] for name, value in pairs})


def assert_same(one: AniraOutput, other: AniraOutput, valid: Tensor | None = None, tolerance: float = TOLERANCE) -> None:
    """Hold two outputs equal at valid tokens: depths exactly, numbers within the tolerance."""
    if valid is not None:
        one, other = flat(one, valid), flat(other, valid)
    assert one.exit_depth.tolist() == other.exit_depth.tolist()
    assert one.executed.tolist() == other.executed.tolist()
    for name in ("logits", "exit_log_probs", "expected_depth"):
        ours, theirs = getattr(one, name), getattr(other, name)
        assert (ours is None) == (theirs is None), name
        if ours is not None:
            torch.testing.assert_close(ours, theirs, rtol=0, atol=tolerance)


def depths_are_spread(case: Case, out: AniraOutput, least: int) -> bool:
    """Say whether at least three depths occur, the least possible one and the greatest among them."""
    depths = set(out.executed[case.valid].tolist())
    greatest = case.settings.get("max_depth", case.model.config.max_depth)
    return len(depths) >= 3 and {least, greatest} <= depths


def spread_case(
    config: AniraConfig, *, batch: int = 3, time: int = 16, padded: bool = False, settings: dict[str, Any] | None = None
) -> Case:
    """Return the first of a few seeded cases in which depths are spread; fixed depths need no search."""
    assert config.policy is not None
    name = config.policy["name"]
    mask = left_padding(batch, time) if padded else None
    for seed in range(60):
        case = Case(random_model(config, seed), random_ids(batch, time, seed), mask, settings or {})
        if name == "fixed" or depths_are_spread(case, case.parallel(), least=0 if name == "gates" else 1):
            return case
    raise AssertionError("no seed spreads the depths: change the scale of the random weights")
