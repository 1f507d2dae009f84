"""A prediction is terms and a way to combine them: the formulas of log p(y = k, x), [N, K].

The terms t_nkf = log p(x_nf | y = k) are [N, K, F], those of given parameters or with the parameters integrated out.

    sum          log p(k) + sum_f t_kf
    powers       a log p(k) + sum_f w_f t_kf,    of a row of n - 1 words w = min(1, c n^-b)
    inclusion    log p(k) + sum_f log(p_f exp(t_kf) + (1 - p_f) exp(u_f)),    u of all classes as one
    forests      log p(k) + sum_f t_kf + log Z(w r_k) / Z(w)
    draws        log (1 / S) sum_s p_s(k) exp(sum_f t_skf)
    average      log sum_m s_m p_m(k | x),    of M of the above

Powers w [F]: Zaidi, Cerquides, Carman and Webb, Alleviating naive Bayes attribute independence assumption by attribute
weighting (2013); those of words and of the class prior: docs/theory/powers.md. Inclusion, with probabilities p [F]:
Dash and Cooper, Exact model averaging with naive Bayesian classifiers (2002). Forests, whose sum Z is over the edges'
weights w and a row's ratios r_k [N, K, F, F]: Meila and Jaakkola, Tractable Bayesian learning of tree belief networks
(2006). Draws [S, ...] of the parameters average the joint and not p(y | x), which would be wrong.

No terms are laid out where their sum is a product of rows and tables. Powers and inclusion, too, change the tables of a
predictive that are numpy's and of a known form: log probabilities of two values or of categories, and Student's t.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import singledispatch
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import scipy.special

from bayesnb.compute.arrays import _either as either
from bayesnb.compute.arrays._cells import row_sums
from bayesnb.compute.arrays._compute import compute_rows, interpret
from bayesnb.compute.arrays._placement import Array, leading_size, on_host
from bayesnb.compute.numerics import _dirichlet as dirichlet
from bayesnb.compute.numerics._log_prob import LogProb, joint, logsumexp
from bayesnb.compute.primitives.products import Linear
from bayesnb.compute.primitives.products._linear_scores import predictive_tables, prepare_predictive
from bayesnb.compute.primitives.products._student import Student, log_student_mixture
from bayesnb.core.families import Histogram, Multinomial
from bayesnb.core.families._base import Family, Score
from bayesnb.core.families._categorical import LookupFamily
from bayesnb.core.families._views import Views, by_view, of_generative, start_powers
from bayesnb.core.families.priors._normal_inverse_gamma import raise_student
from bayesnb.core.model._naive_bayes import NaiveBayes, Sites, joint_score
from bayesnb.core.rows import _arguments as arguments


def sum_terms(class_probs: Array, terms: Mapping[str, LogProb]) -> LogProb:
    """The sum from terms that are laid out, by block [N, K, F]. Pure JAX."""
    return joint(class_probs, [jax.tree.map(lambda part: part.sum(-1), part) for part in terms.values()])


class Powers(NamedTuple):
    """The powers of the features, by block [P], or [1] for the whole block; the exponents b of blocks of counts, by
    block; and the power of the class prior, None for 1.
    """

    features: dict[str, Array]
    lengths: dict[str, Array]
    of_class: Array | None

    def of_lengths(self, block: str, words: Array) -> Array:
        """The powers of rows of so many words, [N], or [1] of a number: min(1, c n^-b) with n one more."""
        power = self.features[block]
        return raise_lengths(power, self.lengths[block], words) if block in self.lengths else power + 0.0 * words

    def at(self, words: Mapping[str, Any]) -> dict[str, Array]:
        """The powers [P] or [1] by block of a row with so many words in blocks of counts."""
        return {**self.features, **{block: self.of_lengths(block, words[block]) for block in self.lengths}}

    def of_rows(self, block: str, x: Array) -> Array:
        """Those of the rows of a block of counts."""
        words = row_sums(x)
        return self.of_lengths(block, either.where(either.isnan(words), 0.0, words))

    def raise_terms(self, block: str, family: Family, terms: Array, x: Array) -> Array:
        """The terms of a block's rows [N, K, F] raised to its powers. Pure JAX."""
        if block not in self.lengths:
            return raise_terms(family, terms, self.features[block], x)
        return terms * self.of_rows(block, x)[:, None, None]


def raise_class_probs(model: NaiveBayes, powers: Powers | None, probs: Array) -> Array:
    """p(k)^a over its sum, [..., K]; for another population's given p'(k), p'(k) p(k)^(a - 1), with p of the labels."""
    if powers is None or powers.of_class is None:
        return probs
    if model.class_probs is None:
        raised = probs**powers.of_class
    else:
        raised = probs * dirichlet.dirichlet_mean(model.class_concentration) ** (powers.of_class - 1.0)
    return raised / raised.sum(axis=-1, keepdims=True)


def check_powers(prior: NaiveBayes, powers: Any, exponents: Any, class_power: Any) -> dict[str, Any]:
    """The fields of a posterior with these powers; ValueError unless they fit its resolved prior."""
    families, columns = prior.families, prior.columns
    sizes = {name: len(start_powers(family, columns[name] or 0)) for name, family in families.items()}
    given = {"powers": arguments.check_powers(powers, sizes), "length_exponents": None, "class_power": None}
    if exponents is not None:
        counts = {name: 1 for name, family in families.items() if has_word_terms(family)}
        given["length_exponents"] = arguments.check_powers(exponents, counts, "length_exponents", 1.0) or None
    if class_power is not None:
        given["class_power"] = arguments.check_powers(class_power, {"label": 1}, "class_power")["label"].reshape(())
    return given


def raise_lengths(power: Array, exponent: Array, words: Array, most: float = 1.0) -> Array:
    """min(1, c n^-b), n = 1 + words: short rows are never raised above the exact predictive."""
    return either.minimum(power * (1.0 + words) ** -exponent, most)


@singledispatch
def has_word_terms(family: Any) -> bool:
    """True if the block, one feature, still splits into terms: one for each word, and a last one for the length."""
    del family
    return False


has_word_terms.register(Multinomial, lambda _: True)


def raise_to_powers(model: NaiveBayes, powers: Powers | None) -> Score:
    """The sum of terms times powers; None means 1."""
    if powers is None:
        return prepare_predictive(model)

    def score(block: str, family: Family) -> Score:
        if block not in powers.lengths:
            return raise_block(family, powers.features[block])
        predictive = prepare_predictive(family)
        return lambda x: _times(powers.of_rows(block, x)[:, None], predictive(x))

    probs = raise_class_probs(model, powers, model.class_mean())
    return joint_score(probs, {b: score(b, f) for b, f in model.families.items()})


def average_inclusion(model: NaiveBayes, pooled: Mapping[str, Family], log_odds: Mapping[str, Array]) -> Score:
    """The average over all subsets of the features that depend on the class, each with the log odds [D] that it does.

    ``pooled`` are the same families fitted to all rows as one class.
    """
    scores = {b: mix_block(f, pooled[b], log_odds[b]) for b, f in model.families.items()}
    return joint_score(model.class_mean(), scores)


def add_forests(score: LogProb, log_ratio: Array, power: Array | float) -> LogProb:
    """The score of rows whose features are independent, and the log ratio of forests [N, K] times its power."""
    return LogProb(score.finite + power * log_ratio, score.zeros)


def average_draws(of_draw: Callable[[Sites], LogProb], draws: Sites) -> LogProb:
    """The mean over draws [S, ...] of p(y, x | draw), a function of one. Pure JAX."""
    draws = jax.tree.map(jnp.asarray, draws)

    def add(total: LogProb, draw: Sites) -> tuple[LogProb, None]:
        return total.plus(of_draw(draw)), None

    first, rest = jax.tree.map(lambda a: a[0], draws), jax.tree.map(lambda a: a[1:], draws)
    total, _ = jax.lax.scan(add, of_draw(first), rest)
    return LogProb(total.finite - jnp.log(leading_size(draws)), total.zeros)


def log_average(logs: Sequence[Array], shares: Array) -> Array:
    """log sum_m s_m exp(logs_m), of M tables."""
    of_parts = either.log(shares)[(None,) * logs[0].ndim]
    return logsumexp(either.concatenate([one[..., None] for one in logs], axis=-1) + of_parts)


@singledispatch
def raise_block(family: Any, powers: Array) -> Score:
    """sum_d w_d log p(x_d | y = k), [N, K], of a block; of one that is seen by V views the powers are [V D]."""
    if powers.shape[0] == 1:
        predictive = prepare_predictive(family)
        return lambda x: _times(powers[0], predictive(x))
    tables = raised_tables(family, powers)
    if tables is None:
        return lambda x: LogProb(compute_rows(_sum_raised, (family, powers), x), None)
    return family.predictive_scorer(tables) if isinstance(tables, Student) else score_categories(family, tables)


@raise_block.register(Views)
def _(family: Any, powers: Array) -> Score:
    return family.predictive_scorer(raised_tables(family, powers))


@singledispatch
def raised_tables(family: Any, powers: Array) -> Any:
    """The predictive raised to powers [D], or [V D] of V views: Student's t, or the logs of categories [K, S] or bins.

    Both for ``Views``; None for JAX's, and for other predictives.
    """
    tables = _host_tables(family, powers)
    if isinstance(tables, Student):
        return raise_student(tables, powers)
    return None if tables is None else LogProb(_category_logs(tables) * _of_categories(family, powers), None)


@raised_tables.register(Views)
def _(family: Any, powers: Array) -> Any:
    return interpret(_raised_tables, family, powers)  # compilation takes longer, however wide the table


def mix_block(family: Family, pooled: Family, log_odds: Array) -> Score:
    """sum_d log(p_d p(x_d | y = k) + (1 - p_d) p(x_d)), [N, K], of a block; ``log_odds`` [D] are log(p / (1 - p))."""
    tables, of_pooled = _host_tables(family, log_odds), _host_tables(pooled, log_odds)
    if isinstance(tables, Student):
        return lambda x: LogProb(log_student_mixture(tables, of_pooled, log_odds, x), None)
    if tables is not None:
        odds = _of_categories(family, log_odds)
        depends = scipy.special.log_expit(odds) + _category_logs(tables)
        free = scipy.special.log_expit(-odds) + _category_logs(of_pooled)
        return score_categories(family, LogProb(np.logaddexp(depends, free), None))
    return lambda x: LogProb(compute_rows(_sum_mixed, (family, pooled, log_odds), x), None)


def _times(power: Array, score: LogProb) -> LogProb:
    return LogProb(power * score.finite, score.zeros)


def _host_tables(family: Family, by_feature: Array) -> Any:
    """The predictive's tables if they are numpy's, and of Student's t or of log probabilities by category, or None."""
    if not on_host(family, by_feature):
        return None
    tables = predictive_tables(family)
    by_category = isinstance(tables, Linear | LogProb) and all(table_sizes(family, len(by_feature)))
    return tables if by_category or isinstance(tables, Student) else None


def _category_logs(tables: Linear | LogProb) -> Array:
    """log p(category | k), [K, S]: the columns' categories end to end."""
    if isinstance(tables, LogProb):
        return tables.finite
    failure: Any = tables.offset
    return np.stack([failure, failure + tables.coefficients[0]], axis=-1).reshape(len(failure), -1)


@singledispatch
def score_categories(family: Any, logs: LogProb) -> Score:
    """The score of rows by other log probabilities of the categories, [K, S]; by default of two a column."""
    failure, success = logs.finite[:, ::2], logs.finite[:, 1::2]
    table = Linear((success - failure,), failure)
    if logs.zeros is not None:
        always, never = logs.zeros[:, ::2], logs.zeros[:, 1::2]
        table = table._replace(zeros=(never - always,), zero_offset=always)
    score: Score = family.predictive_scorer(table)
    return score


score_categories.register(LookupFamily, lambda family, logs: family.predictive_scorer(logs))
score_categories.register(Views, of_generative(score_categories))


@singledispatch
def table_sizes(family: Any, num_columns: int) -> tuple[int, ...]:
    """The entries of each column in ``predictive_tables`` that are log probabilities; by default its categories."""
    return family.category_sizes(num_columns)


table_sizes.register(Histogram, lambda family, num_columns: (family.num_bins,) * num_columns)
table_sizes.register(Views, of_generative(table_sizes))


def _of_categories(family: Family, by_feature: Array) -> Array:
    """Numbers by feature [D], repeated for each category, [S]."""
    return np.repeat(by_feature, table_sizes(family, len(by_feature)))


@singledispatch
def side_by_side(family: Family, terms: Array, x: Array) -> Array:
    """The terms of a block's rows [N, K, F] by view, [N, K, V, F]; of V views those of the others beside them."""
    del family, x
    return terms[:, :, None]


side_by_side.register(Views, lambda family, terms, x: family.side_by_side(terms, x))


def raise_terms(family: Family, terms: Array, powers: Array, x: Array) -> Array:
    """The terms of a block's rows [N, K, F] raised to powers [P], or [1] for the whole block. Pure JAX."""
    return (side_by_side(family, terms, x) * by_view(family, powers)[None, None]).sum(axis=2)


def mixture_terms(family: Family, pooled: Family, log_odds: Array, x: Array) -> Array:
    """The terms of the average over subsets, [N, K, D]. Pure JAX."""
    log_odds = log_odds[None, None]
    depends = jax.nn.log_sigmoid(log_odds) + family.log_predictive_terms(x)
    free = jax.nn.log_sigmoid(-log_odds) + pooled.log_predictive_terms(x)
    # a missing cell adds log(p + 1 - p) = 0
    return jnp.logaddexp(depends, free)


_raised_tables = jax.jit(lambda family, powers: family.raised_tables(by_view(family, powers)))
_sum_raised = jax.jit(lambda f, powers, x: raise_terms(f, f.log_predictive_terms(x), powers, x).sum(axis=-1))
_sum_mixed = jax.jit(lambda *given: mixture_terms(*given).sum(axis=-1))
