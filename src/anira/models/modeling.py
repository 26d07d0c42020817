"""The Hugging Face model: embedding, prelude, core under a policy, coda, head, loss."""

from dataclasses import dataclass, replace
from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from transformers import AutoConfig, AutoModelForCausalLM, Cache, DynamicCache, GenerationMixin, PreTrainedModel
from transformers import initialization as init
from transformers.utils.generic import ModelOutput

from anira.config import UserError
from anira.models.backbone import Backbone, Rope, run_layers
from anira.models.cache import DepthCache, cache_signature
from anira.models.configuration import AniraConfig
from anira.models.execution import FlatList, Tokens, run_active, run_parallel
from anira.models.exits import check_rule
from anira.models.loss import Targets, named_losses
from anira.models.masks import causal_mask
from anira.models.noise import uniform_noise
from anira.models.policies import Allocation, ComputePolicy, Context, Forced, Readout, policy_class
from anira.models.policies.decider import Decider


@dataclass
class AniraOutput(ModelOutput):
    """What a forward call returns; token-wise tensors are (batch, time) of the tokens of this call."""

    loss: Tensor | None = None
    """The sum of `losses`."""
    losses: dict[str, Tensor] | None = None
    logits: Float[Tensor, "batch kept vocab"] | None = None
    past_key_values: DepthCache | None = None
    exit_depth: Int[Tensor, "batch time"] | None = None
    """The iteration whose state went to the coda; 0 at padding when a cache is used."""
    executed: Int[Tensor, "batch time"] | None = None
    """Iterations that were run; differs from exit_depth where an earlier state is read out (virtual exits)."""
    exit_log_probs: Float[Tensor, "batch time depth"] | None = None
    expected_depth: Float[Tensor, "batch time"] | None = None
    iteration_states: tuple[Tensor, ...] | None = None
    """On request: the state before the first iteration and after each."""


@dataclass(frozen=True)
class _Call:
    """One forward call, with every default filled in."""

    input_ids: Int[Tensor, "batch time"]
    policy: ComputePolicy
    context: Context
    mask: Bool[Tensor, "batch 1 time keys"] | None
    cache: DepthCache | None


@dataclass(frozen=True)
class _Core:
    """What the core hands on, in rows whichever way it was run."""

    readout: Readout
    state: Any
    allocation: Allocation
    executed: Int[Tensor, "batch time"]
    iteration_states: tuple[Tensor, ...]


class AniraForCausalLM(PreTrainedModel, GenerationMixin):
    """A causal language model that spends a depth of its own on every token.

    >>> config = AniraConfig(vocab_size=30, hidden_size=32, intermediate_size=64, num_attention_heads=2)
    >>> model = AniraForCausalLM(config).eval()
    >>> model(torch.tensor([[1, 2, 3]])).exit_depth.shape
    torch.Size([1, 3])
    """

    config: AniraConfig
    config_class = AniraConfig
    base_model_prefix = "model"
    supports_gradient_checkpointing = True
    _supports_sdpa = True
    _no_split_modules = ["LlamaDecoderLayer"]  # noqa: RUF012 (as Hugging Face declares it)
    _skip_keys_device_placement = ["past_key_values"]  # noqa: RUF012
    _tied_weights_keys = {"lm_head.weight": "model.embed_tokens.weight"}  # noqa: RUF012
    _keep_in_fp32_modules_strict = ["policy"]  # noqa: RUF012 (deciders run in float32 or better)

    def __init__(self, config: AniraConfig) -> None:
        super().__init__(config)
        if config._attn_implementation != "sdpa":
            raise UserError(f"anira runs on attn_implementation='sdpa' only, not {config._attn_implementation!r}")
        self.model = Backbone(config)
        self.policy: ComputePolicy = policy_class(config.policy["name"])(config)
        self.lm_head = nn.Linear(config.hidden_size, config.vocab_size, bias=False)
        self._noise_calls = 0
        self._cache_signature = cache_signature(config)
        self.post_init()

    def _init_weights(self, module: nn.Module) -> None:
        super()._init_weights(module)
        for decider in self.modules():
            # Hugging Face asks layer by layer, and never a module without parameters of its own.
            if isinstance(decider, Decider) and decider.out is module:
                init.constant_(decider.out.bias, decider.bias)

    def forward(  # noqa: PLR0913, PLR0917 (the interface of a Hugging Face model)
        self,
        input_ids: Int[Tensor, "batch time"],
        attention_mask: Tensor | None = None,
        position_ids: Int[Tensor, "rows time"] | None = None,
        past_key_values: Cache | None = None,
        labels: Int[Tensor, "batch time"] | None = None,
        valid_mask: Tensor | None = None,
        num_answer_tokens: Tensor | float | None = None,
        num_valid_tokens: Tensor | float | None = None,
        gamma_scale: Tensor | float = 1.0,
        noise: Float[Tensor, "batch time channels"] | None = None,
        select: str | None = None,
        threshold: float | None = None,
        max_depth: int | None = None,
        exit_depth: Int[Tensor, "batch time"] | int | None = None,
        output_exit_probs: bool | None = None,
        output_iteration_states: bool = False,
        use_cache: bool | None = None,
        logits_to_keep: int = 0,
        return_dict: bool | None = None,
    ) -> AniraOutput:
        """Run the model on rows of tokens.

        Without a cache the parallel graph runs, with gradients; with one (`use_cache=True`, or `past_key_values`)
        only the active tokens are computed, without gradients.

        Args:
            input_ids: tokens of this call.
            attention_mask: 1 at tokens, 0 at padding; with a cache for all columns so far. Rows that are padded on
                the right need none: pass `valid_mask` instead and attention keeps its fast path.
            position_ids: by default counted over the tokens that are not padding.
            past_key_values: a DepthCache from an earlier call.
            labels: unshifted, -100 where there is nothing to learn.
            valid_mask: tokens whose compute counts in the loss; by default `attention_mask`, or all.
            num_answer_tokens, num_valid_tokens: sizes of the global batch; by default of this one.
            gamma_scale: multiplies the policy's compute weight (for a warm-up).
            noise: uniform numbers; with them the policy samples, without it decides deterministically. In training
                mode without noise the model draws its own, from a counter of its calls.
            select, threshold: how to decide: mode, median, mean, or quantile with its threshold.
            max_depth: iterations on offer, if not the model's own.
            exit_depth: depths forced from outside; the policy is not asked.
            output_exit_probs: return `exit_log_probs` and `expected_depth`; by default only without a cache.
            output_iteration_states: also return the state before the first iteration and after each (no cache).
            use_cache: by default only if `past_key_values` is given.
            logits_to_keep: return the logits of the last positions only; 0 is all.
            return_dict: anything but False; there for Hugging Face's sake.
        """
        cached = past_key_values is not None if use_cache is None else use_cache
        self._check_call(labels, cached, output_iteration_states, logits_to_keep, return_dict)
        self._check_depth(select, threshold, max_depth, exit_depth, noise)
        if noise is None and exit_depth is None and self.training and self.policy.noise_width and not cached:
            noise = self._own_noise(input_ids)
        cache = self._own_cache(past_key_values) if cached else None
        probs = not cached if output_exit_probs is None else output_exit_probs or labels is not None
        settings = {"noise": noise, "select": select, "threshold": threshold, "probs": probs}
        call = self._prepare(input_ids, attention_mask, position_ids, cache, exit_depth, max_depth, settings)

        x = self.model.embed_tokens(input_ids)
        rope = self.model.rope(x, call.context.positions)
        h0 = run_layers(self.model.prelude, x, call.mask, rope, cache)
        core = self._run_core(call, h0, rope, output_iteration_states)
        logits = self._coda(core.readout.states, call.mask, rope, cache, logits_to_keep)
        losses = None
        if labels is not None:
            valid = call.context.valid if valid_mask is None else valid_mask.bool()
            targets = Targets(labels, valid, num_answer_tokens, num_valid_tokens, gamma_scale)
            losses = named_losses(call.policy, core.state, logits, core.readout.weights, targets)
        return AniraOutput(
            loss=None if losses is None else torch.stack(list(losses.values())).sum(),
            losses=losses,
            logits=logits[-1],
            past_key_values=cache,
            exit_depth=core.allocation.exit_depth,
            executed=core.executed,
            exit_log_probs=core.allocation.exit_log_probs,
            expected_depth=core.allocation.expected_depth,
            iteration_states=core.iteration_states or None,
        )

    def _check_call(
        self, labels: Tensor | None, cached: bool, keep_states: bool, keep: int, return_dict: bool | None
    ) -> None:
        if cached and (labels is not None or keep_states):
            raise UserError("labels and output_iteration_states need the parallel graph: leave out the cache")
        if cached and self.policy.causal == "probe":
            name = self.policy.name
            raise UserError(f"policy {name!r} looks at logits, which runs without a cache only: use_cache=False")
        if labels is not None and keep:
            raise UserError("labels need all logits: leave out logits_to_keep")
        if return_dict is False:
            raise UserError("return_dict=False is not supported: read the fields of the output")

    def _check_depth(
        self,
        select: str | None,
        threshold: float | None,
        max_depth: int | None,
        exit_depth: Tensor | int | None,
        noise: Tensor | None,
    ) -> None:
        policy, trained = self.policy, self.config.max_depth
        if select is not None or threshold is not None:
            if not policy.selects or exit_depth is not None:
                raise UserError(f"select and threshold mean nothing to policy {policy.name!r} or to forced depths")
            check_rule(select, threshold, default="mode")
        if noise is not None and noise.shape[-1] != policy.noise_width:
            raise UserError(f"noise must have {policy.noise_width} channels for {policy.name!r}, not {noise.shape[-1]}")
        if max_depth is not None and max_depth < 1:
            raise UserError(f"max_depth must be at least 1, not {max_depth}")
        if max_depth is not None and max_depth > trained and not (self.config.shared_core and policy.beyond_max_depth):
            why = f"policy {policy.name!r}" if self.config.shared_core else "an unshared core"
            raise UserError(f"max_depth {max_depth} is beyond the model's {trained}, which {why} cannot do")
        if exit_depth is not None:
            self._check_forced(torch.as_tensor(exit_depth), trained if max_depth is None else max_depth)

    def _check_forced(self, exit_depth: Tensor, max_depth: int) -> None:
        if not self.config.shared_core:
            raise UserError("exit_depth needs a shared core: a frozen token has no state in layers of their own")
        if int(exit_depth.min()) < 1 or int(exit_depth.max()) > max_depth:
            raise UserError(f"exit_depth must lie between 1 and max_depth {max_depth}")

    def _prepare(
        self,
        input_ids: Tensor,
        attention_mask: Tensor | None,
        position_ids: Tensor | None,
        cache: DepthCache | None,
        exit_depth: Tensor | int | None,
        max_depth: int | None,
        settings: dict[str, Any],
    ) -> _Call:
        """Fill in validity, positions and the mask, and give the cache its new columns."""
        depth = self.config.max_depth if max_depth is None else max_depth
        time = input_ids.shape[1]
        past = 0 if cache is None else cache.get_seq_length()
        if attention_mask is not None and attention_mask.shape[1] != past + time:
            raise UserError(f"attention_mask must cover all {past + time} columns, not {attention_mask.shape[1]}")
        valid = torch.ones_like(input_ids, dtype=torch.bool)
        if attention_mask is not None:
            valid = attention_mask[:, past:].bool()
        key_valid, padded = valid, attention_mask is not None and not bool(valid.all())  # no mask, nothing to look at
        if cache is not None:
            if past and depth > cache.core.max_depth and self.config.freeze == "state":
                raise UserError(
                    f"max_depth {depth} is beyond the {cache.core.max_depth} of earlier calls, whose tokens left no "
                    "state to read there: start a new cache"
                )
            cache.core.extend(valid, depth, full=not padded)
            key_valid, padded = cache.core.valid, not cache.core.full
        if position_ids is None and not padded:
            position_ids = torch.arange(past, past + time, device=input_ids.device)[None]
        elif position_ids is None:
            position_ids = (key_valid.long().cumsum(1) - 1).clamp(min=0)[:, past:]
        plain = not padded and (time == 1 or past == 0)
        policy = self.policy
        if exit_depth is not None:
            policy = Forced(torch.as_tensor(exit_depth, device=input_ids.device).expand_as(input_ids))
        context = Context(valid=valid, positions=position_ids.expand_as(input_ids), max_depth=depth, **settings)
        return _Call(input_ids, policy, context, None if plain else causal_mask(key_valid, time), cache)

    def _run_core(self, call: _Call, h0: Tensor, rope: Rope, keep_states: bool) -> _Core:
        if call.cache is None:
            return self._run_parallel(call, h0, rope, keep_states)
        return self._run_active(call, h0, rope)

    def _run_parallel(self, call: _Call, h0: Tensor, rope: Rope, keep_states: bool) -> _Core:
        policy, context = call.policy, call.context
        if policy.causal == "probe":
            context = replace(context, probe=lambda h: self._coda(h[None], call.mask, rope, None, 0)[0])
        core = run_parallel(self.model, policy, h0, context, call.mask, rope, keep_states)
        readout, allocation = policy.readout(core.h, core.state), policy.allocation(core.state)
        return _Core(readout, core.state, allocation, core.executed, core.iteration_states)

    def _run_active(self, call: _Call, h0: Tensor, rope: Rope) -> _Core:
        assert call.cache is not None
        store, ctx, policy = call.cache.core, call.context, call.policy
        time = h0.shape[1]
        flat = FlatList(ctx.valid, whole=store.full)
        rows, columns = flat.places(store.num_columns - time)
        tokens = Tokens(rows, columns, (flat.pack(rope[0]), flat.pack(rope[1])), flat.pack(h0))
        context = Context(
            valid=flat.pack(ctx.valid),
            positions=flat.pack(ctx.positions),
            max_depth=ctx.max_depth,
            noise=None if ctx.noise is None else flat.pack(ctx.noise),
            select=ctx.select,
            threshold=ctx.threshold,
            probs=ctx.probs,
        )
        if isinstance(policy, Forced):
            policy = Forced(flat.pack(policy.exit_depth))
        core = run_active(self.model, policy, tokens, context, store, single=time == 1)
        allocation = policy.allocation(core.state)
        depth = flat.spread(allocation.exit_depth)
        store.exit_depth[:, -time:] = depth
        log_q, expected = allocation.exit_log_probs, allocation.expected_depth
        z = flat.spread(policy.readout(core.h, core.state).states[-1], into=h0)
        return _Core(
            Readout(z[None], torch.ones_like(z[None, ..., 0])),
            core.state,
            Allocation(
                depth,
                None if log_q is None else flat.spread(log_q),
                None if expected is None else flat.spread(expected),
            ),
            flat.spread(core.executed),
            (),
        )

    def _coda(
        self, states: Float[Tensor, "states batch time dim"], mask: Tensor | None, rope: Rope, cache: Any, keep: int
    ) -> Float[Tensor, "states batch kept vocab"]:
        """Read out several states as so many batches."""
        num = len(states)
        if num > 1:
            rope = (rope[0].repeat(num, 1, 1), rope[1].repeat(num, 1, 1))
            mask = None if mask is None else mask.repeat(num, 1, 1, 1)
        x = run_layers(self.model.coda, states.flatten(0, 1), mask, rope, cache)
        logits: Tensor = self.lm_head(self.model.norm(x[:, -keep:] if keep else x))
        return logits.view(num, -1, *logits.shape[1:])

    def gradient_checkpointing_enable(self, *args: Any, **kwargs: Any) -> None:
        """Recompute layers in the backward pass; not with freeze = "kv", whose kept keys a recomputation would lose."""
        if self.config.freeze == "kv" and self.policy.timing != "none":
            raise UserError("gradient checkpointing does not go with freeze='kv' and a policy that halts tokens")
        super().gradient_checkpointing_enable(*args, **kwargs)

    def _own_noise(self, input_ids: Tensor) -> Tensor:
        """Return noise for callers who know nothing of it, such as Hugging Face's Trainer."""
        self._noise_calls += 1
        rows, positions = (torch.arange(size, device=input_ids.device) for size in input_ids.shape)
        return uniform_noise(
            seed=0, step=self._noise_calls, rows=rows, positions=positions, width=self.policy.noise_width
        )

    def _own_cache(self, cache: Cache | None) -> DepthCache:
        """Return the caller's cache, or a new one in place of none or of an empty stock cache."""
        if isinstance(cache, DepthCache):
            if cache.signature != self._cache_signature:
                raise UserError(f"the cache belongs to another model: it has {cache.signature}")
            return cache
        if cache is not None and (not isinstance(cache, DynamicCache) or cache.get_seq_length() > 0):
            raise UserError(f"past_key_values must be a DepthCache of this model, not {type(cache).__name__}")
        return DepthCache(self.config)

    def _prepare_cache_for_generation(  # type: ignore[override]
        self, generation_config: Any, model_kwargs: dict[str, Any], *args: Any, **kwargs: Any
    ) -> None:
        """Give `generate` a DepthCache where it would make a stock cache (a hook of GenerationMixin)."""
        if generation_config.cache_implementation is not None:
            raise UserError(f"cache_implementation {generation_config.cache_implementation!r} is not supported")
        if model_kwargs.get("past_key_values") is None and generation_config.use_cache is not False:
            model_kwargs["past_key_values"] = DepthCache(self.config)
        super()._prepare_cache_for_generation(generation_config, model_kwargs, *args, **kwargs)  # type: ignore[misc]


AutoConfig.register("anira", AniraConfig, exist_ok=True)
AutoModelForCausalLM.register(AniraConfig, AniraForCausalLM, exist_ok=True)
