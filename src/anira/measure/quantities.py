"""The quantities of the tidy table: each has one name, one unit and one sentence for people, and stands here only."""

from dataclasses import dataclass
from typing import Final

from anira.config import UserError, nearest


@dataclass(frozen=True)
class Quantity:
    """What a row of the tidy table is an estimate of."""

    name: str
    unit: str
    sentence: str
    digits: int = 2
    """Decimals that a page shows."""
    percent: bool = False
    """Whether a page shows the value times 100."""


POINTS: Final = "difference of shares"
"""Unit of what pages show in percentage points."""
_DEPTH: Final = "iterations"
_SLOPE: Final = "iterations per unit of the knob"
_RANK: Final = "rank correlation"
_STEPS: Final = "steps"
_FLOPS: Final = "FLOPs per token"
_PER: Final = "iterations per unit of the feature"


def _share(name: str, sentence: str, of: str = "instances") -> Quantity:
    return Quantity(name, f"share of {of}", sentence, digits=1, percent=True)


def _ratio(name: str, sentence: str, to: str = "full depth") -> Quantity:
    return Quantity(name, f"ratio to {to}", sentence, digits=1, percent=True)


def _points(name: str, sentence: str) -> Quantity:
    return Quantity(name, POINTS, sentence, digits=1, percent=True)


def _both(name: str, unit: str, sentence: str, digits: int = 2) -> tuple[Quantity, Quantity]:
    """Return a quantity of exit depth, and the same of expected depth."""
    share = unit.startswith("share")
    pairs = {name: "exit depth", f"expected_{name}": "expected depth"}
    first, second = (
        Quantity(key, unit, sentence.format(depth), digits=1 if share else digits, percent=share)
        for key, depth in pairs.items()
    )
    return first, second


_ALL: Final = (
    Quantity("max_depth", _DEPTH, "Iterations on offer.", digits=0),
    _share("accuracy", "Share of instances answered right."),
    _share("accuracy_hardest", "Share answered right at the hardest knob of training."),
    _share("lenient_accuracy", "Share right under the task's lenient rule."),
    _share("held_out_accuracy", "Share right among the questions kept from training."),
    _share("majority", "Share that always giving a knob's commonest answer would get right."),
    _share("seen_in_training", "Share of questions that training has shown."),
    Quantity("depth", _DEPTH, "Mean exit depth per token; the subset says of which tokens."),
    Quantity("expected_depth", _DEPTH, "Mean expected depth per answer token, by the policy's distribution."),
    _share("modal_share", "Share of tokens that have the most common depth.", "tokens"),
    Quantity("iterations", "iterations per token", "Executed iterations of the core per token, prompt included."),
    Quantity("flops", _FLOPS, "FLOPs of the whole model per token, decisions included.", digits=0),
    Quantity("kv_slots", "slots per token", "Key-value slots that the core keeps per token."),
    Quantity("decisions", "decisions per token", "How often the policy decided per token."),
    _share("iterations_share", "Executed iterations, as a share of those at full depth.", "iterations"),
    _share("flops_share", "FLOPs of the whole model, as a share of those at full depth.", "FLOPs"),
    _share("kv_share", "Key-value slots of the core, as a share of those at full depth.", "slots"),
    _share("unread_share", "Iterations executed beyond the one that was read out.", "iterations"),
    Quantity("slope", _SLOPE, "Slope of answer depth over the knob, by least squares."),
    Quantity("spearman_knob", _RANK, "Spearman correlation of answer depth with the knob."),
    Quantity("expected_slope", _SLOPE, "Slope of expected answer depth over the knob, by least squares."),
    Quantity("slope_above_twin", _SLOPE, "Slope of expected answer depth minus that on the twin with the same seed."),
    _points("accuracy_difference", "Accuracy minus that of the other of a pair of runs with the same seed."),
    Quantity("depth_difference", _DEPTH, "Expected answer depth minus that of the other of a pair of runs."),
    Quantity("slope_difference", _SLOPE, "Slope of expected answer depth minus that of the other of a pair of runs."),
    _share("rising", "Share of runs whose depth rises: slope of at least 0.05, with an interval above zero.", "runs"),
    Quantity("expected_spearman", _RANK, "Spearman correlation of expected answer depth with the knob."),
    _share("r2_position", "Share of the variance of depth that the position of a token explains.", "variance"),
    _share("r2_knob", "Share of the variance of depth that the knob explains.", "variance"),
    _share("r2_both", "Share of the variance of depth that position and knob explain together.", "variance"),
    Quantity("probe_pooled", _RANK, "Spearman correlation of depth with the probe that the subset names, all tokens."),
    Quantity("probe_within", _RANK, "The same within each instance, mean over instances."),
    Quantity("expected_probe_pooled", _RANK, "Spearman correlation of expected depth with a probe, all tokens."),
    Quantity("expected_probe_within", _RANK, "The same within each instance, mean over instances."),
    _share("forced_accuracy", "Share answered right with every token forced to the depth that the subset names."),
    _points("need", "Accuracy at the policy's own or full depth minus that at forced depth 1, hardest knob."),
    Quantity("oracle_depth", _DEPTH, "Smallest forced depth from which the answer stays right; mean."),
    Quantity("spearman_oracle", _RANK, "Spearman correlation of answer depth with oracle depth."),
    Quantity(
        "regret",
        "nats",
        "Cross-entropy plus price times depth at the chosen depth, minus the least over depths; mean per answer token.",
        digits=3,
    ),
    Quantity("regret_constant", "nats", "Regret of the constant depth that has the least; mean per answer token.", 3),
    Quantity("regret_less_constant", "nats", "Regret of the chosen depths minus that of the best constant depth.", 3),
    _share("too_early", "Share of answer tokens that a deeper depth would have served for less.", "tokens"),
    _share("too_late", "Share of answer tokens that a shallower depth would have served for less.", "tokens"),
    _share("settled", "Share of tokens whose state the last iteration changes by less than 3% of its norm.", "tokens"),
    _share("virtual_accuracy", "Share answered right when all iterations run and the state at the exit is picked."),
    _points("real_less_virtual", "Accuracy with real exits minus accuracy with virtual ones, on the same instances."),
    Quantity(
        "spread",
        "share of instances",
        "Standard deviation of accuracy over data sets of one question per template.",
        percent=True,
    ),
    _share("lowest", "Accuracy on the data set with the fewest right answers."),
    _share("highest", "Accuracy on the data set with the most right answers."),
    _points("above_curve", "Accuracy minus that of fixed depths of the same model at the same mean answer depth."),
    _points("above_fixed", "Accuracy minus that of trained fixed depths at equal compute, which the subset names."),
    # dynamics
    Quantity("learned_step", _STEPS, "Step from which the accuracy of a size stays above its level.", digits=0),
    _share("learning_level", "Accuracy above which a size is learned: half way from the commonest answer to 1."),
    Quantity("kendall_order", _RANK, "Kendall's tau of learned step and size: 1 if smaller sizes always come first."),
    _share("order_by_chance", "Share of all orders of the learned steps that follow size as closely.", "orders"),
    Quantity("gamma_warmup", _STEPS, "Steps over which the weight of the compute loss rises; 0: constant.", digits=0),
    Quantity("block_depth", _DEPTH, "Mean answer depth of the training batches that were logged around a step."),
    Quantity("peak_step", _STEPS, "Step around which the depth of training batches is highest.", digits=0),
    Quantity("start_depth", _DEPTH, "Mean answer depth of the first logged training batch."),
    Quantity("peak_depth", _DEPTH, "Mean answer depth at the peak, read from the batches right after the highest."),
    Quantity("end_depth", _DEPTH, "Mean answer depth of the last logged training batches."),
    Quantity("depth_rise", _DEPTH, "Depth at the peak less depth at the start."),
    Quantity("depth_fall", _DEPTH, "Depth at the peak less depth at the end."),
    _points("accuracy_kept", "Accuracy at the last evaluation minus that at the evaluation nearest to the peak."),
    # lano
    _share("sentences", "Share of the strings a run wrote that are sentences of the language.", "strings"),
    _share("ended", "Share of the strings a run wrote that came to their end.", "strings"),
    _share("possible_tokens", "Share of written tokens before the first impossible one of their string.", "tokens"),
    Quantity("strings", "strings", "Strings that the tokens of the subset belong to.", digits=0),
    Quantity("work", _RANK, "Spearman correlation of expected depth with the proxy that the subset names.", digits=3),
    Quantity("work_given_position", _RANK, "The same with the position of the token held fixed.", digits=3),
    Quantity("work_given_token", _RANK, "The same among positions that read the same token.", digits=3),
    Quantity("work_within", _RANK, "The same within each string, mean over strings.", digits=3),
    Quantity("work_shuffled", _RANK, "What is left over all tokens when depth is shuffled within strings.", digits=3),
    Quantity("cross_entropy", "nats", "Cross-entropy of sentences kept from training; mean per token.", digits=4),
    Quantity("entropy_floor", "nats", "The least cross-entropy per token that any model can have.", digits=4),
    # cost
    _ratio("slots_expected", "Slots that the core is expected to keep: (d + 1)/D, at most 1."),
    _ratio("time_ratio", "CPU time of the whole model, of that at full depth without a decider."),
    _ratio("core_time_ratio", "The same for the core: time spent at any depth is subtracted from both."),
    _ratio("deciding_ratio", "CPU time beyond the same depths without a decider, of that at full depth."),
    _ratio("core_bytes_ratio", "Bytes of the core's keys and values, of those at full depth."),
    _ratio("cache_bytes_ratio", "Bytes of the whole cache with its spare room, of those at full depth."),
    Quantity("token_time", "ms per token", "CPU time per token, median of the repeats."),
    Quantity("execution_flops", _FLOPS, "FLOPs of the core per token.", digits=0),
    Quantity("decision_flops", _FLOPS, "FLOPs of deciding per token.", digits=0),
    Quantity("other_flops", _FLOPS, "FLOPs of prelude, coda and head per token.", digits=0),
    _ratio("execution_ratio", "FLOPs of the core, of those at full depth."),
    _ratio("flops_ratio", "FLOPs of the whole model, of those at full depth without a decider."),
    _ratio("decision_ratio", "FLOPs of deciding, of those of the core at the same depths.", "the core"),
    Quantity("parameters", "parameters", "Parameters of the model.", digits=0),
    Quantity("decider_parameters", "parameters", "Parameters of the decider.", digits=0),
    _share("decider_share", "Parameters of the decider, of all.", "parameters"),
    # clrs
    _points("drop_unseen", "Accuracy at seen sizes minus accuracy at the unseen sizes of the split."),
    _share("usual_answer", "Share that always giving the commonest answer of training rows would get right."),
    _share("copied_input", "Share that giving the input as the answer would get right."),
    # extrapolation
    _points("drop_beyond", "Accuracy at the largest seen knob minus that at the first beyond it."),
    _points("drop_within", "Accuracy at the last but one seen knob minus that at the largest."),
    _points("accuracy_above", "Accuracy minus that of the variant that the subset names, on the same instances."),
    Quantity("depth_above", _DEPTH, "Mean answer depth minus that of the variant that the subset names."),
    # mano_parse_state
    *_both("state_depth", _DEPTH, "Mean {} per question token in the state of the parse that the subset names."),
    *_both("state_deviation", _DEPTH, "Standard deviation of {} over question tokens in that state."),
    *_both("parse_term", _DEPTH, "Coefficient of a term of the piecewise model of {}, which the subset names.", 3),
    *_both("right_child", _DEPTH, "Mean {} of operators with r_t = 1 minus that of operators with r_t = 2."),
    *_both("completed_slope", "iterations per operator", "How much {} rises for one more of s_t, where r_t = 1."),
    *_both("parse_r2", "share of variance", "Share of the variance of {} over question tokens that is explained."),
    *_both("work_slope", "iterations per unit of work", "How much {} of the answer rises for one more, at equal L."),
    _points("work_accuracy", "How much accuracy rises for one more, at equal L."),
    # pareto
    Quantity("executed", _DEPTH, "Mean number of iterations executed per answer token, read out or not."),
    _points("above_full", "Accuracy minus that of the same run at full depth, on the same instances."),
    _share("dominated", "Whether another way is as accurate and as cheap, and surely better in one of both.", "runs"),
    # brevo_regression
    Quantity("node_effect", _PER, "Expected depth for one more of a feature, with a constant for every N.", 3),
    Quantity("node_effect_placed", _PER, "The same with a constant for every N and place in the answer.", 3),
    Quantity("node_effect_within", _PER, "The same with a constant for every instance.", 3),
    Quantity("node_correlation", "correlation", "Pearson correlation of a feature with expected depth."),
    Quantity("node_vif", "variance inflation factor", "How far the other kept features say a feature.", 1),
    _share("node_delta", "What R2 loses without a feature, among all that the first stage keeps.", "variance"),
    Quantity("final_effect", _PER, "Expected depth for one more of a feature, in the final model, N a number.", 3),
    _share("final_delta", "What R2 of the final model loses without a feature, N a number.", "variance"),
    _share("final_delta_sized", "What R2 of the final model loses without a feature, N a category.", "variance"),
    Quantity("final_retention", "ratio", "What a feature keeps of its loss of R2 when N is a category."),
    _share("node_r2", "Share of the variance of depth that the model explains that the subset names.", "variance"),
    _points("node_r2_gain", "What one model explains more of the variance than another; the subset names them."),
    Quantity("read_correlation", "correlation", "Pearson correlation of mean and largest depth of predecessors.", 3),
    _share("group_r2", "What a group of features adds to the other, of the variance within instances.", "variance"),
    _share("state_share", "What the state adds, as a share of what state and structure add.", "what both add"),
    _points("state_share_gap", "The state's share in ANIRA-O minus that in ANIRA-E with the same seed."),
)
QUANTITIES: Final = {one.name: one for one in _ALL}
"""By name."""


def quantity(name: str) -> Quantity:
    """Return a quantity by its name; an unknown one is refused.

    >>> quantity("regret").unit
    'nats'
    """
    if name not in QUANTITIES:
        raise UserError(f"unknown quantity {name!r}: {nearest(name, QUANTITIES)}")
    return QUANTITIES[name]
