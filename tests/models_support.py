"""Small models whose tokens exit at many depths, and the ways to run them that must agree."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import tests.equivalence.outside_policy  # noqa: F401 (registers the outside policies)
import torch
from torch import Tensor

from anira.models import AniraConfig, AniraForCausalLM, AniraOutput, uniform_noise

torch.set_num_threads(1)  # the models are so small that a second thread costs more than it brings

VOCAB = 20
MAX_DEPTH = 5
TOLERANCE = 1e-9
TOKEN_WISE = ("logits", "exit_depth", "executed", "exit_log_probs", "expected_depth")

POLICIES: dict[str, dict[str, Any]] = {
    "anira-e": {"name": "anira-e"},
    "anira-o": {"name": "anira-o"},
    "fixed": {"name": "fixed"},
    "similarity": {"name": "similarity"},
    "similarity-running": {"name": "similarity", "see": "running"},
    "gates": {"name": "gates"},
    "gates-running": {"name": "gates", "see": "running"},
}


def small_config(policy: str = "anira-e", options: dict[str, Any] | None = None, **changes: Any) -> AniraConfig:
    """Return a configuration that takes milliseconds to run."""
    sizes = {"vocab_size": VOCAB, "hidden_size": 16, "intermediate_size": 24, "num_attention_heads": 2}
    chosen = POLICIES.get(policy, {"name": policy}) | (options or {})
    return AniraConfig(**{**sizes, "max_depth": MAX_DEPTH, "policy": chosen, **changes})


def random_model(config: AniraConfig, seed: int = 0) -> AniraForCausalLM:
    """Return a float64 model in eval mode with weights large enough for its tokens to differ in depth.

    An untrained model would send every token out after one iteration.
    """
    model = AniraForCausalLM(config).double().eval()
    draw_weights(model, seed)
    return model


def draw_weights(model: AniraForCausalLM, seed: int) -> None:
    """Give a model the weights of `random_model`: a search over seeds need not make it anew for each."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() > 1:
                parameter.normal_(0, 1.5 / parameter.shape[1] ** 0.5, generator=generator)
    if hasattr(model.policy, "decider"):
        model.policy.decider.out.weight.data *= 3  # peaked distributions: every rule then finds depths 1 and D


def random_ids(batch: int, time: int, seed: int = 0) -> Tensor:
    return torch.randint(1, VOCAB, (batch, time), generator=torch.Generator().manual_seed(seed))


def noise_for(model: AniraForCausalLM, ids: Tensor, step: int = 0) -> Tensor:
    rows, positions = (torch.arange(size) for size in ids.shape)
    return uniform_noise(seed=0, step=step, rows=rows, positions=positions, width=model.policy.noise_width)


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

    @property
    def max_depth(self) -> int:
        return self.settings.get("max_depth", self.model.config.max_depth)

    @torch.no_grad()
    def parallel(self, **extra: Any) -> AniraOutput:
        return self.model(self.ids, attention_mask=self.mask, **self.settings, **self.per_token, **extra)

    def cached(self, sizes: Sequence[int]) -> AniraOutput:
        """Run the tokens in chunks of these sizes against a cache, and join the outputs."""
        outputs: list[AniraOutput] = []
        cache, start = None, 0
        for stop in torch.tensor(sizes).cumsum(0).tolist():
            outputs.append(self._chunk(cache, start, stop))
            cache, start = outputs[-1].past_key_values, stop
        return joined(outputs)

    @torch.no_grad()
    def _chunk(self, cache: Any, start: int, stop: int) -> AniraOutput:
        mask = None if self.mask is None else self.mask[:, :stop]
        cut = {name: value[:, start:stop] for name, value in self.per_token.items()}
        ids = self.ids[:, start:stop]
        calls = {"past_key_values": cache, "use_cache": True, "output_exit_probs": True}
        return self.model(ids, mask, **calls, **self.settings, **cut)

    def one_by_one(self) -> AniraOutput:
        return self.cached([1] * self.ids.shape[1])

    def in_chunks(self, seed: int = 0) -> AniraOutput:
        """Run four chunks of random sizes."""
        time = self.ids.shape[1]
        cuts = torch.randperm(time - 1, generator=torch.Generator().manual_seed(seed))[:3].sort().values + 1
        return self.cached(torch.diff(cuts, prepend=torch.tensor([0]), append=torch.tensor([time])).tolist())

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

    return AniraOutput(**{name: join(name) for name in TOKEN_WISE}, past_key_values=outputs[-1].past_key_values)


def pick(out: AniraOutput, tokens: Tensor) -> AniraOutput:
    """Return some tokens of an output, given by a mask, as one row."""
    pairs = ((name, getattr(out, name)) for name in TOKEN_WISE)
    return AniraOutput(**{name: None if value is None else value[tokens][None] for name, value in pairs})


def assert_same(one: AniraOutput, other: AniraOutput, tokens: Tensor | None = None) -> None:
    """Hold two outputs equal, or those of some tokens: depths exactly, numbers within the tolerance."""
    if tokens is not None:
        one, other = pick(one, tokens), pick(other, tokens)
    assert one.exit_depth.tolist() == other.exit_depth.tolist()
    assert one.executed.tolist() == other.executed.tolist()
    for name in ("logits", "exit_log_probs", "expected_depth"):
        ours, theirs = getattr(one, name), getattr(other, name)
        assert (ours is None) == (theirs is None), name
        if ours is not None:
            torch.testing.assert_close(ours, theirs, rtol=0, atol=TOLERANCE)


def depths_are_spread(case: Case) -> bool:
    """Say whether at least three exit depths occur, the least possible one and the greatest among them."""
    depths = set(case.parallel().exit_depth[case.valid].tolist())
    least = 0 if case.model.policy.timing == "route" else 1
    return len(depths) >= min(3, case.max_depth) and {least, case.max_depth} <= depths


def spread_case(
    config: AniraConfig,
    *,
    batch: int = 3,
    time: int = 14,
    padded: bool = False,
    settings: dict[str, Any] | None = None,
    seeds: range = range(40),
) -> Case:
    """Return the first of a few seeded cases in which depths are spread; a fixed depth needs no search."""
    mask = left_padding(batch, time) if padded else None
    model = random_model(config)
    for seed in seeds:
        draw_weights(model, seed)
        case = Case(model, random_ids(batch, time, seed), mask, settings or {})
        if case.model.policy.timing == "none" or depths_are_spread(case):
            return case
    raise AssertionError("no seed spreads the depths: change the weights of the policy")
