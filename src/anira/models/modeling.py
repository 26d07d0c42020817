"""The Hugging Face model: embedding, prelude, core under a policy, coda, head, loss."""

from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.distributed.fsdp import FSDPModule
from transformers import AutoConfig, AutoModelForCausalLM, Cache, GenerationMixin, PreTrainedModel
from transformers import initialization as init
from transformers.utils.generic import can_return_tuple

from anira.config import UserError
from anira.models import arguments, card
from anira.models.backbone import Backbone, Rope, project_key_values, run_layers
from anira.models.cache import DepthCache, cache_signature
from anira.models.configuration import AniraConfig
from anira.models.execution import run_active, run_parallel
from anira.models.flat import Tokens
from anira.models.generation import DepthGeneration
from anira.models.loss import Targets, named_losses
from anira.models.masks import causal_mask
from anira.models.output import AniraOutput
from anira.models.packing import PackedAttention, Packing, PartAttention
from anira.models.policies import ComputePolicy, Readout, policy_class
from anira.models.present import PresentStore
from anira.models.readout import Core, chosen_of, decided, kept_of
from anira.models.slots import SlotStore
from anira.models.static import StaticDepthCache
from anira.models.wrapped import policy_in_use


class AniraForCausalLM(DepthGeneration, PreTrainedModel, GenerationMixin):  # type: ignore[misc]
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
    accepts_loss_kwargs = True  # Trainer then passes num_items_in_batch
    _supports_sdpa = True
    _no_split_modules = ["LlamaDecoderLayer", "FourNormLayer"]  # noqa: RUF012 (as Hugging Face declares it)
    _skip_keys_device_placement = ["past_key_values"]  # noqa: RUF012
    _tied_weights_keys = {"lm_head.weight": "model.embed_tokens.weight"}  # noqa: RUF012
    _keep_in_fp32_modules_strict = ["policy"]  # noqa: RUF012 (deciders run in float32 or better)

    def __init__(self, config: AniraConfig) -> None:
        super().__init__(config)
        arguments.check_attention(config._attn_implementation)
        self.model = Backbone(config)
        self.policy: ComputePolicy = policy_class(config.policy["name"])(config)
        self.lm_head = nn.Linear(config.hidden_size, config.vocab_size, bias=False)
        self._cache_signature = cache_signature(config)
        self.post_init()

    @init.guard_torch_init_functions()  # weights that were loaded stay as they are
    @torch.no_grad()
    def initialize_weights(self) -> None:
        """Start as Hugging Face does, layer by layer, then as the policy wants."""
        super().initialize_weights()
        policy_in_use(self.policy).init_weights()

    @can_return_tuple  # type: ignore[untyped-decorator]
    def forward(  # noqa: PLR0913, PLR0917 (the interface of a Hugging Face model)
        self,
        input_ids: Int[Tensor, "batch time"] | None = None,
        attention_mask: Tensor | None = None,
        position_ids: Int[Tensor, "rows time"] | None = None,
        past_key_values: Cache | None = None,
        inputs_embeds: Float[Tensor, "batch time dim"] | None = None,
        labels: Int[Tensor, "batch time"] | None = None,
        lengths: Int[Tensor, " instances"] | None = None,
        max_length: int | None = None,
        valid_mask: Tensor | None = None,
        num_answer_tokens: Tensor | float | None = None,
        num_valid_tokens: Tensor | float | None = None,
        num_items_in_batch: Tensor | float | None = None,
        gamma_scale: Tensor | float = 1.0,
        noise: Float[Tensor, "batch time channels"] | None = None,
        select: str | None = None,
        threshold: float | None = None,
        max_depth: int | None = None,
        exit_depth: Int[Tensor, "batch time"] | int | None = None,
        exits: str | None = None,
        step_noise: Float[Tensor, " channels"] | None = None,
        progress: Tensor | float = 1.0,
        global_means: Mapping[str, Tensor] | None = None,
        output_exit_probs: bool | None = None,
        output_iteration_states: bool = False,
        output_hidden_states: bool | None = None,
        output_attentions: bool | None = None,
        use_cache: bool | None = None,
        active: bool = False,
        logits_to_keep: int | Int[Tensor, " kept"] = 0,
    ) -> AniraOutput:
        """Run the model on rows of tokens.

        Without a cache the parallel graph runs, with gradients; with one (`use_cache=True`, or `past_key_values`), or
        on request (`active`), only the tokens that still run are computed, without gradients.

        Args:
            input_ids: tokens of this call.
            attention_mask: 1 at tokens, 0 at padding; with a cache for all columns so far.
            position_ids: by default counted over the tokens that are not padding.
            past_key_values, use_cache: a DepthCache from an earlier call, or whether to begin with one.
            inputs_embeds: in place of `input_ids`, what the embedding would give.
            labels: unshifted, -100 where there is nothing to learn.
            lengths, max_length: the batch is one row of instances laid end to end; their lengths, and the largest.
            valid_mask: tokens whose compute counts; enough for rows padded on the right, and faster.
            num_answer_tokens, num_valid_tokens, num_items_in_batch: sizes of the global batch; by default this one's.
            gamma_scale: multiplies the policy's compute weight (for a warm-up).
            noise: uniform numbers to sample with; in training mode the model draws its own if none are given.
            select, threshold: how to decide: one of the policy's rules, with its threshold.
            max_depth: iterations on offer, if not the model's own.
            exit_depth: depths forced from outside; the policy keeps its own way to merge and to read out.
            exits: virtual: all iterations run for everyone, and the state at the exit is picked.
            step_noise, progress: uniform numbers of the optimizer step, and how much of training is over.
            global_means: what the policy's loss needs to know of the global batch, if this is a part of one.
            output_exit_probs: return `exit_log_probs` and `expected_depth`; by default only without a cache.
            output_iteration_states: also return the state before the first iteration and after each.
            output_hidden_states: also return the prelude's output, these states, and what the head reads.
            active: compute only the tokens that still run, without a cache too: nothing is kept for later calls.
            logits_to_keep: return the logits of the last positions, 0 is all; or of those in a tensor (with labels all
                that predict one).
        """
        policy = policy_in_use(self.policy)
        cached = past_key_values is not None or bool(use_cache)
        arguments.check_call(policy, labels, cached or active, logits_to_keep, output_attentions)
        depths = arguments.Depths(noise, select, threshold, max_depth, exit_depth, exits, step_noise, progress)
        if self.training and not cached:
            depths = depths.of_step(policy, self.device)
        arguments.check_depth(self.config, policy, depths, active=cached or active)
        x = self._embed(input_ids, inputs_embeds)
        cache = arguments.own_cache(past_key_values, self.config, self._cache_signature) if cached else None
        masks = arguments.Masks(attention_mask, valid_mask, position_ids, lengths, max_length)
        hidden = self.config.output_hidden_states if output_hidden_states is None else output_hidden_states
        probs = not cached if output_exit_probs is None else output_exit_probs or labels is not None
        wanted = arguments.Wanted(probs, bool(hidden), output_iteration_states, logits_to_keep, active)
        counts = (num_answer_tokens, num_valid_tokens, num_items_in_batch)
        targets = None if labels is None else Targets(labels, *counts, gamma_scale, global_means)
        with nullcontext() if cache is None else cache.unchanged_on_error():
            call = self._prepare(x, input_ids, policy, masks, depths, cache, wanted)
            return self._run(call, targets, wanted)

    def _embed(self, input_ids: Tensor | None, inputs_embeds: Tensor | None) -> Float[Tensor, "batch time dim"]:
        if (input_ids is None) == (inputs_embeds is None):
            raise UserError("give input_ids or inputs_embeds, and not both")
        given = input_ids if inputs_embeds is None else inputs_embeds
        assert given is not None
        if given.numel() == 0:
            raise UserError(f"there is no token in a batch of shape {tuple(given.shape[:2])}")
        if inputs_embeds is not None:
            return inputs_embeds
        arguments.check_ids(given, self.config.vocab_size)
        x: Tensor = self.model.embed_tokens(given)
        return x

    def _prepare(
        self,
        x: Float[Tensor, "batch time dim"],
        ids: Int[Tensor, "batch time"] | None,
        policy: ComputePolicy,
        masks: arguments.Masks,
        depths: arguments.Depths,
        cache: DepthCache | StaticDepthCache | None,
        wanted: arguments.Wanted,
    ) -> arguments.Call:
        """Fill in validity, positions, the mask, noise and depths, and give the cache its new columns."""
        logits: dict[str, Any] = {"head": self.head_logits, "whole_head": len(self.model.coda) == 0}
        if isinstance(cache, StaticDepthCache):
            return arguments.static_call(x, ids, policy, masks, depths, cache, wanted, **logits)
        depth = self.config.max_depth if depths.max_depth is None else depths.max_depth
        batch, time = x.shape[:2]
        past = 0 if cache is None else cache.get_seq_length()
        valid, flat, padded = masks.attended(batch, past, time, x.device)
        key_valid = valid
        if cache is not None:
            arguments.check_deeper(depth, past, cache, self.config)
            columns = cache.extend(valid, depth, full=not padded)
            key_valid, padded = columns.valid, not columns.full
        packing = masks.packing(x, cached=cache is not None)
        positions = masks.position_ids
        if positions is None and packing is not None:
            positions = packing.columns[None]
        elif positions is None and not padded:
            positions = torch.arange(past, past + time, device=x.device)[None]
        elif positions is None:
            positions = (key_valid.long().cumsum(1) - 1).clamp(min=0)[:, past:]
        plain = not padded and (time == 1 or past == 0)
        mask = None if plain else causal_mask(key_valid, time)
        if cache is None and masks.valid_mask is not None:
            valid, padded = masks.counted(valid, active=wanted.active), True
        context = arguments.make_context(
            policy,
            depths,
            valid=valid,
            positions=positions,
            ids=ids,
            packing=packing,
            max_depth=depth,
            training=self.training and cache is None and not wanted.active,
            probs=wanted.probs,
            **logits,
        )
        store: SlotStore | PresentStore | None = None if cache is None else cache.core
        if cache is None and wanted.active:
            rows, longest = (batch, time) if packing is None else (packing.num_rows, packing.longest)
            store = PresentStore(self.config.num_core_layers, depth, rows, longest)
        return arguments.Call(x, policy, context, padded, mask, packing, cache, flat, store, None, wanted.states)

    def head_logits(self, h: Float[Tensor, "*tokens dim"]) -> Float[Tensor, "*tokens vocab"]:
        """Return the logits of states by the head alone."""
        logits: Tensor = self.lm_head(self.model.before_head(h))
        return logits

    def _run(self, call: arguments.Call, targets: Targets | None, wanted: arguments.Wanted) -> AniraOutput:
        """Run prelude, core, coda and head, and gather what was asked for."""
        cache = call.cache
        rope = self.model.rope(call.x, call.context.positions)
        h0 = run_layers(self.model.prelude, call.x, call.mask, rope, past=cache, plan=call.plan)
        core = self._run_parallel(call, h0, rope) if call.store is None else self._run_active(call, h0, rope)
        kept, readout = wanted.logits_to_keep, core.readout
        # Outside of its own call, FSDP would not gather the last layer again for the backward pass.
        whole = wanted.hidden_states or any(isinstance(layer, FSDPModule) for layer in self.model.coda)
        if readout.through == "head":
            z, logits = readout.states, self._head(readout.states, kept)
        elif call.packing is not None and isinstance(kept, Tensor) and not whole:
            z = self._coda_of(kept, readout.states, rope, call.packing)
            logits = self._head(z, 0)
        else:
            z = self._coda(readout.states, call, rope)
            logits = self._head(z, kept)
        losses = sums = hidden = None
        if wanted.hidden_states:
            hidden = (h0, *core.iteration_states[1:], self.model.before_head(z[-1]))
        if targets is not None:
            if call.packing is not None:
                targets = targets.without(call.packing.columns[None] == 0)  # nobody predicts an instance's first token
            losses, sums = named_losses(
                call.policy, core.state, logits, readout.weights, targets, call.context.valid, kept
            )
        return AniraOutput(
            loss=None if losses is None else torch.stack(list(losses.values())).sum(),
            logits=chosen_of(logits, kept_of(readout.chosen, kept)),
            past_key_values=cache if call.static is None else call.static.cache,
            hidden_states=hidden,
            exit_depth=core.allocation.exit_depth,
            executed=core.executed,
            exit_log_probs=core.allocation.exit_log_probs,
            expected_depth=core.allocation.expected_depth,
            iteration_states=core.iteration_states if wanted.iteration_states else None,
            losses=losses,
            ran=core.ran,
            hides=core.hides or None,
            mean_sums=sums or None,
        )

    def _run_parallel(self, call: arguments.Call, h0: Tensor, rope: Rope) -> Core:
        policy, context = call.policy, call.context
        mask, laid = (call.mask, call.core_plan) if call.static is None else (None, call.static)
        core = run_parallel(self.model, policy, h0, context, mask, rope, call.keep_states, laid)
        readout, allocation = policy.readout(core.h, core.state), decided(policy, core, context)
        executed = core.executed
        if call.padded:
            allocation, executed = allocation.only(context.valid), executed * context.valid
            if call.mask is not None:
                # generate asks for the logits of padding after a prompt that is padded on the right: those of its
                # prelude, as in the active-only execution.
                states = torch.where(context.valid[..., None], readout.states, h0)
                readout = replace(readout, states=states)
        if call.static is not None:
            call.static.end(allocation.exit_depth)
            z = chosen_of(readout.states, readout.chosen)[None]
            readout = Readout(z, torch.ones_like(z[..., 0]), through=readout.through)
        return Core(readout, core.state, allocation, executed, core.iteration_states, core.ran, core.hides)

    def _run_active(self, call: arguments.Call, h0: Tensor, rope: Rope) -> Core:
        assert call.store is not None and call.flat is not None
        store, flat, ctx, policy = call.store, call.flat, call.context, call.policy
        time = h0.shape[1]
        if call.packing is not None:
            rows, columns = torch.stack([call.packing.rows, call.packing.columns]).cpu().numpy()
        else:
            rows, columns = flat.places(0 if call.cache is None else call.cache.get_seq_length() - time)
        tokens = Tokens(rows, columns, (flat.pack(rope[0]), flat.pack(rope[1])), flat.pack(h0))
        context = replace(
            ctx,
            valid=flat.pack(ctx.valid),
            positions=flat.pack(ctx.positions),
            rows=flat.pack(ctx.rows),
            ids=None if ctx.ids is None else flat.pack(ctx.ids),
            noise=None if ctx.noise is None else flat.pack(ctx.noise),
            forced_depth=None if ctx.forced_depth is None else flat.pack(ctx.forced_depth),
        )
        single = time == 1 and call.cache is not None
        core = run_active(self.model, policy, tokens, context, store, single=single, keep_states=call.keep_states)
        allocation = decided(policy, core, context).each(flat.spread)
        if call.cache is not None:
            assert call.cache.columns is not None
            call.cache.columns.exit_depth[:, -time:] = allocation.exit_depth
        readout = policy.readout(core.h, core.state)
        z = flat.spread(chosen_of(readout.states, readout.chosen), into=h0)
        return Core(
            Readout(z[None], torch.ones_like(z[None, ..., 0]), through=readout.through),
            core.state,
            allocation,
            flat.spread(core.executed),
            tuple(flat.spread(state, into=h0) for state in core.iteration_states),
            None if core.ran is None else flat.spread(core.ran),
            core.hides,
        )

    def _coda(
        self, states: Float[Tensor, "states batch time dim"], call: arguments.Call, rope: Rope
    ) -> Float[Tensor, "states batch time dim"]:
        """Read out several states as so many batches; packed ones one after the other."""
        num, mask, states = len(states), call.mask, self.model.before_coda(states)
        if call.packing is not None:
            return torch.stack([run_layers(self.model.coda, one, None, rope, plan=call.plan) for one in states])
        if num > 1:
            rope = (rope[0].repeat(num, 1, 1), rope[1].repeat(num, 1, 1))
            mask = None if mask is None else mask.repeat(num, 1, 1, 1)
        return run_layers(self.model.coda, states.flatten(0, 1), mask, rope, past=call.cache, plan=call.plan).view(
            states.shape
        )

    def _coda_of(
        self, kept: Int[Tensor, " kept"], states: Float[Tensor, "states 1 time dim"], rope: Rope, packing: Packing
    ) -> Float[Tensor, "states 1 kept dim"]:
        """Read out some positions of a packed row: the last layer runs on them alone, over the keys of all tokens."""
        part = (rope[0][:, kept], rope[1][:, kept])
        *layers, last = self.model.coda if len(self.model.coda) else (None,)
        out = []
        for x in self.model.before_coda(states):
            for layer in layers:
                x = run_layers([layer], x, None, rope, plan=PackedAttention(packing))  # noqa: PLW2901
            if last is not None:
                keys, values = project_key_values(last, x[0], (rope[0][0], rope[1][0]))
                x = run_layers([last], x[:, kept], None, part, plan=PartAttention(packing, kept, keys, values))  # noqa: PLW2901
            else:
                x = x[:, kept]  # noqa: PLW2901
            out.append(x)
        return torch.stack(out)

    def _head(
        self, z: Float[Tensor, "states batch time dim"], keep: int | Tensor
    ) -> Float[Tensor, "states batch kept vocab"]:
        if isinstance(keep, Tensor) or keep:
            z = z[:, :, keep if isinstance(keep, Tensor) else slice(-keep, None)]
        return self.head_logits(z)

    @classmethod
    def from_released(
        cls, path_or_hub_id: Any, *, policy: Any = None, dtype: torch.dtype | None = None
    ) -> "AniraForCausalLM":
        """Load a released looped model: Ouro, Huginn or Recurrent-Llama (see `pretrained.load_released`)."""
        from anira.models.pretrained import load_released

        return load_released(path_or_hub_id, policy=policy, dtype=dtype)

    def set_attn_implementation(self, attn_implementation: str | dict[str, str], *args: Any, **kwargs: Any) -> None:
        """Accept what the model runs on, and refuse everything else by name."""
        arguments.check_attention(attn_implementation)

    def gradient_checkpointing_enable(  # type: ignore[override]
        self, gradient_checkpointing_kwargs: Any = None, **kwargs: Any
    ) -> None:
        """Recompute layers in the backward pass; unless freeze is "state", without re-entering autograd."""
        reentrant = (gradient_checkpointing_kwargs or {}).get("use_reentrant", False)
        if self.config.freeze != "state" and reentrant:
            raise UserError(
                f"gradient checkpointing with freeze={self.config.freeze!r} needs use_reentrant=False: kept keys carry "
                "gradient"
            )
        super().gradient_checkpointing_enable(
            {**(gradient_checkpointing_kwargs or {}), "use_reentrant": reentrant}, **kwargs
        )

    def save_pretrained(self, save_directory: Any, *args: Any, **kwargs: Any) -> None:
        """Save as Hugging Face does, with a model card that says how to load it."""
        super().save_pretrained(save_directory, *args, **kwargs)
        card.write_card(save_directory, self.config)


AutoConfig.register("anira", AniraConfig, exist_ok=True)
AutoModelForCausalLM.register(AniraConfig, AniraForCausalLM, exist_ok=True)
