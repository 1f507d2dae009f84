"""Explain predictions: the contributions of the class prior and of each feature, which add up to the log odds.

    log p(k | x) - log p(j | x) = log p(k) / p(j) + sum_f contribution_kf,    all in nats

Log odds are against one class j; those against all other classes together would not add up. Draws have no such sum, as
they average products. Good, Weight of evidence: a brief survey (1985); Mozina, Demsar, Kattan and Zupan, Nomograms for
visualization of naive Bayesian classifier (2004).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from bayesnb.compute.arrays import _memory as memory
from bayesnb.compute.arrays._cells import dense, is_sparse
from bayesnb.compute.arrays._compute import compute_rows
from bayesnb.compute.arrays._placement import to_double, to_host
from bayesnb.compute.arrays._typing import Array, Estimator, FeatureNames, Table
from bayesnb.compute.numerics import _dirichlet as dirichlet
from bayesnb.compute.numerics import _stable as stable
from bayesnb.compute.numerics._log_prob import NO_CLASS, LogProb
from bayesnb.core.families._base import Family, Params
from bayesnb.core.families._multinomial import counts_of
from bayesnb.core.fits._averaged import AveragedPosterior
from bayesnb.core.model._naive_bayes import NaiveBayes, Sites
from bayesnb.core.results import _display_names as names
from bayesnb.core.results import _intervals as intervals
from bayesnb.core.results._classifier import Classifier, PointEstimate, Posterior, class_probs
from bayesnb.core.results._combine import has_word_terms, mixture_terms, raise_class_probs, sum_terms
from bayesnb.core.results._draws import Draws
from bayesnb.core.results._unwrap import unwrap_pipeline
from bayesnb.core.rows import _arguments as arguments
from bayesnb.core.rows._checks import columns_in, count_rows
from bayesnb.inspection._explanation import Explanation, ExplanationIntervals
from bayesnb.inspection.sensitivity._robustness import Robustness, robustness
from bayesnb.learned.forests._posterior import ForestPosterior
from bayesnb.learned.forests._stacked import StackedPosterior

DEPENDENCE = "dependence"
"""The name of the term of forests."""


def explain(
    fit: Classifier | Estimator,
    X: Table,
    *,
    against: int | str = 0,
    level: float = 0.9,
    key: Array | None = None,
    num_draws: int = 1000,
    class_names: Iterable[object] | None = None,
    feature_names: FeatureNames | None = None,
    value_names: Mapping[str, Sequence[object]] | None = None,
) -> Explanation:
    """The exact contributions of the class prior and of each feature to the log odds of every class against one.

    The F features are the columns, block by block. A Multinomial block is its words and one term for the length, which
    is 0 given the parameters and corrects the exact predictive (``families._multinomial``). A MultivariateNormal
    block is one term, and so is a Multinomial block in an average over subsets of features. A missing cell adds 0. For
    a tempered fit the class prior and the terms are multiplied by its powers. Forests of dependence, as
    ``NaiveBayesClassifier`` has by default, add one term, ``dependence``, to those of the posterior: what is left of
    the log odds of the prediction. For tables of categories a last sentence says what it would take to change the
    decision (``robustness``).

    With ``key`` there are equal-tailed credible intervals of the contributions given the parameters theta, over draws:
    w_f (log p(x_f | k, theta) - log p(x_f | j, theta)). The exact predictive averages p over theta, so a contribution
    may be outside its interval if rows are few.

    A value that is impossible under only one class makes the log odds and its contribution infinite. If both classes
    have impossible features, these cancel as in the prediction: only the contributions against the class with more of
    them are infinite. Everything is computed on the host in float64.

    Args:
        fit: A ``PointEstimate``, ``Posterior`` or ``AveragedPosterior``; or an estimator or pipeline, which has names.
        X: Rows as in the fit; for a ``Pipeline`` what its first step takes, such as texts.
        against: The class that the others are compared with, a number or a name.
        level: The probability inside an interval.
        key: A ``jax.random.key``; None for no intervals.
        num_draws: The number of draws of the parameters.
        class_names: K names; 0..K-1 if not given.
        feature_names: D names, or a fitted vectorizer that has them, or a dict of such by block; ``x[3]`` if not given.
        value_names: Names of the codes 0, 1, ..., by the name of the feature.

    Raises:
        ValueError: for a fit that has no additive explanation, rows or names that do not fit it, a key for a point
            estimate, which has no posterior uncertainty, tables beyond the memory, and inside a JAX transformation.

    Example:
        >>> import bayesnb as nb
        >>> post = nb.fit_posterior(nb.NaiveBayes(nb.Bernoulli()), [[1, 0], [1, 1], [0, 1], [0, 1]], [1, 1, 0, 0])
        >>> found = nb.explain(post, [[1, 1]], feature_names=["cough", "fever"], class_names=["well", "ill"])
        >>> print(found.table())
        ill against well, row 0 [nats]
          class prior     +0.000
          cough = 1       +1.099
          fever = 1       -0.405
          log odds        +0.693
          P(ill) = 0.6667
          0.80 more rows would make well as probable as ill: all labelled well with cough = 1, fever = 1
    """
    whole, rows, known = unwrap_pipeline(fit, X)
    found = without_dependence(whole)
    own_classes, own_features, own_values = names.complete_names(known, class_names, feature_names, value_names)
    _check(found, rows, key)
    depends = found is not whole
    if key is not None and depends:
        raise ValueError(
            "dependence between features has no intervals: leave out key, or fit without, dependence=False"
        )
    found, whole = to_double((found, whole))
    arrays = {block: x if hasattr(x, "indptr") else np.asarray(x) for block, x in found.arrays(to_host(rows)).items()}
    sizes = {block: columns_in(family, arrays[block]) for block, family in found.model.families.items()}
    probs = raise_class_probs(found.model, getattr(found, "all_powers", None), class_probs(found))
    classes = names.check_class_names(own_classes, probs.size)
    columns = names.check_column_names(own_features, sizes)
    other = names.class_index(against, classes, "against")
    features = names.prefix_repeated(_feature_names(found, columns))
    ends = np.cumsum([len(part) for part in features.values()]).tolist()
    blocks = {block: slice(end - len(features[block]), end) for block, end in zip(features, ends, strict=True)}
    _require_memory(count_rows(arrays), "rows", probs.size, ends[-1], "give fewer rows at once")
    small = keep_seen_words(found, arrays)
    parts = compute_rows(terms, (small.fit,), small.arrays)
    table = [_beside(small, blocks, {b: part[i] for b, part in parts.items()}) for i in (0, 1)]
    prior, contributions = _exact_log_odds(probs, table, other)
    values = _values(found, arrays, blocks)
    if depends:
        added = _log_odds_added(whole, found, arrays, other)
        contributions = np.concatenate([contributions, added[:, :, None]], axis=2)
        values = np.column_stack([values, np.full(len(values), np.nan)])
        block = DEPENDENCE + "_" * (DEPENDENCE in blocks)
        features, blocks = features | {block: (DEPENDENCE,)}, blocks | {block: slice(ends[-1], ends[-1] + 1)}
    return Explanation(
        prior=prior,
        contributions=contributions,
        values=values,
        intervals=None if key is None else _intervals(small, blocks, other, level, key, num_draws),
        against=other,
        level=None if key is None else level,
        class_names=classes,
        feature_names=tuple(name for part in features.values() for name in part),
        value_names=names.check_value_names(own_values, found.model.families, columns, features),
        blocks=blocks,
        robustness=partial(_robustness, whole, arrays),
    )


def _robustness(fit: Any, arrays: dict[str, Array], row: int) -> Robustness | None:
    """How robust the decision of a checked row is; None for a fit that does not say."""
    cells = {block: x[[row]] for block, x in arrays.items()}
    try:
        return robustness(fit, cells["x"] if fit.model.single else cells)
    except ValueError:
        return None


def without_dependence(fit: Any) -> Any:
    """The posterior with its powers, without dependence, of a fit that has some; another fit itself."""
    if isinstance(fit, StackedPosterior):
        return fit.alone
    return fit.posterior if isinstance(fit, ForestPosterior) else fit


def _log_odds_added(whole: Classifier, part: Classifier, arrays: dict[str, Array], against: int) -> Array:
    """The log odds of a fit less those of its part for checked rows, [N, K]; 0 for impossible classes."""
    logs = [fit.host_score(arrays).normalise() for fit in (whole, part)]
    with np.errstate(invalid="ignore"):
        log_odds = [one - one[:, [against]] for one in logs]
        added: Array = log_odds[0] - log_odds[1]
    return np.where(np.isfinite(added), added, 0.0)


def _check(fit: Any, X: Any, key: Any) -> None:
    if isinstance(fit, Draws):
        raise ValueError(
            f"{type(fit).__name__} average products over draws, which are not sums over features: explain a fit from "
            "fit_posterior or fit_map"
        )
    if not isinstance(fit, PointEstimate | Posterior | AveragedPosterior):
        raise ValueError(f"explain takes a fit such as fit_posterior returns, got {type(fit).__name__}")
    arguments.require_known("explain", fit, X, key)
    if key is not None and isinstance(fit, PointEstimate):
        raise ValueError("a point estimate has no posterior uncertainty: leave out key, or explain a posterior")


def _require_memory(size: int, of_what: str, num_classes: int, num_features: int, advice: str) -> None:
    what = f"a table of {size:,} {of_what}, {num_classes:,} classes and {num_features:,} features"
    memory.require(8 * int(size) * num_classes * num_features, what, advice)


def _exact_log_odds(probs: Array, table: list[Array], against: int) -> tuple[Array, Array]:
    """Log odds of the prior [K] and contributions [N, K, F]; infinite if one class has more impossible features."""
    prior, never = (part - part[against] for part in (np.log(np.where(probs > 0, probs, 1.0)), NO_CLASS * (probs == 0)))
    features, zeros = (part - part[:, [against]] for part in table)
    more = np.sign(never + zeros.sum(axis=2))[:, :, None]
    # infinite only for features that are impossible under the class with more of them
    contributions = np.where(zeros * more > 0, np.copysign(np.inf, -more), features)
    return np.where(never == 0, prior, np.copysign(np.inf, -never)), contributions


def _intervals(
    small: SeenWords, blocks: dict[str, slice], against: int, level: float, key: Array, num_draws: int
) -> ExplanationIntervals:
    fit = small.fit
    width = sum(len(small.columns.get(b, range(part.start, part.stop))) + 1 for b, part in blocks.items())
    _require_memory(num_draws, "draws", class_probs(fit).size, width, "give a smaller num_draws, or no key")
    given = intervals.draw_parameters(fit, small.arrays, key, num_draws, level)
    words = any(by_words(fit, family) for family in fit.model.families.values())
    terms = explained_terms if words else intervals.log_likelihood_terms
    both = intervals.quantiles(_LogOdds(against, terms), given, by_feature=True)
    probs = np.log(raise_class_probs(given.model, given.powers, given.model.class_probs_of(given.params)))
    ends = np.quantile(probs - probs[:, [against]], given.tails, axis=0, method="nearest")
    return ExplanationIntervals(
        prior=intervals.Interval(*ends),
        contributions=intervals.Interval(*(_beside(small, blocks, by_block) for by_block, _ in both)),
        log_odds=intervals.Interval(*(whole for _, whole in both)),
    )


@dataclass(frozen=True)
class _LogOdds:
    """The contributions given parameters, by block [N, K, F], and the log odds of the rows [N, K]."""

    against: int
    terms: Callable[..., LogProb]

    def __call__(self, model: NaiveBayes, powers: Any, rows: dict[str, Array], draw: Sites) -> Any:
        parts = intervals.feature_terms(model, draw, powers, rows, self.terms)
        probs = raise_class_probs(model, powers, model.class_probs_of(draw))
        total = sum_terms(probs, parts).log()[:, :, None]
        by_block = {block: intervals.log_odds(part.log(), self.against) for block, part in parts.items()}
        return by_block, intervals.log_odds(total, self.against)[:, :, 0]


def _beside(small: SeenWords, blocks: dict[str, slice], by_block: dict[str, Array]) -> Array:
    """The blocks concatenated, [N, K, F]; words that occur in no row add 0."""
    parts = []
    for block, places in blocks.items():
        part = by_block[block]
        if block in small.columns:
            shown = np.delete(part, -2, axis=2)  # without the words that are in no row; the last is the length
            part = np.zeros((*part.shape[:2], places.stop - places.start))
            part[:, :, [*small.columns[block], -1]] = shown
        parts.append(part)
    return np.concatenate(parts, axis=2)


def _values(fit: Classifier, arrays: dict[str, Array], blocks: dict[str, slice]) -> Array:
    """The cells [N, F]; NaN for missing cells, and for terms of many cells."""
    parts = []
    for block, family in fit.model.families.items():
        x, num_columns = np.asarray(dense(arrays[block]), np.float64), columns_in(family, arrays[block])
        if by_words(fit, family):
            x = np.column_stack([x, x.sum(axis=1)])
        elif blocks[block].stop - blocks[block].start != num_columns:
            x = np.full((len(x), 1), np.nan)
        elif x.shape[1] > num_columns:  # successes and totals
            x = np.where(x[:, num_columns:] > 0, x[:, :num_columns], np.nan)
        seen = family.seen(arrays[block])
        parts.append(x if seen is None or seen.shape != x.shape else np.where(seen, x, np.nan))
    return np.concatenate(parts, axis=1)


def _feature_names(fit: Classifier, columns: dict[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
    """The names of each block's features: its columns, or the block itself; a Multinomial's length comes last."""
    features = dict(columns)
    for block, family in fit.model.families.items():
        if by_words(fit, family):
            features[block] = (*columns[block], "length" if fit.model.single else f"length of {block}")
        elif family.one_feature and len(columns[block]) != 1:
            features[block] = (block,)
    return features


def by_words(fit: Classifier, family: Family) -> bool:
    """True if the block has one term for each word and one for the length.

    In an average over subsets of features a Multinomial block is included as a whole, and has one term.
    """
    return has_word_terms(family) and not isinstance(fit, AveragedPosterior)


@jax.jit
def terms(fit: Classifier, arrays: dict[str, Array]) -> dict[str, LogProb]:
    """The terms of checked rows by block, [N, K, F]; their sums are what the fit predicts with."""
    families, powers = fit.model.families, fit.all_powers if isinstance(fit, Posterior) else None
    if isinstance(fit, PointEstimate):
        found = intervals.feature_terms(fit.model, fit.params, None, arrays, explained_terms)
    elif isinstance(fit, AveragedPosterior):
        mixed = {b: mixture_terms(f, fit.pooled[b], fit.log_odds[b], arrays[b]) for b, f in families.items()}
        found = {b: LogProb(part, None) for b, part in mixed.items()}
    else:
        exact = {b: explained_predictive(f, arrays[b]) for b, f in families.items()}
        if powers is not None:
            exact = {b: powers.raise_terms(b, f, exact[b], arrays[b]) for b, f in families.items()}
        found = {b: LogProb(part, None) for b, part in exact.items()}
    return {b: LogProb(p.finite, jnp.zeros_like(p.finite) if p.zeros is None else p.zeros) for b, p in found.items()}


class SeenWords(NamedTuple):
    """A fit and rows whose blocks of words keep only words that occur in a row, ``columns`` [U] by block.

    All other words become one last column, whose counts are 0.
    """

    fit: Any
    arrays: dict[str, Array]
    columns: dict[str, Array]


def keep_seen_words(fit: Classifier, arrays: Mapping[str, Array]) -> SeenWords:
    """Rows and a fit, both on the host, without words that occur in no row: their terms are 0."""
    families: dict[str, Any] = dict(fit.model.families)
    rows, columns = dict(arrays), {}
    params = dict(fit.params) if isinstance(fit, PointEstimate) else None
    for block, family in [*families.items()]:
        x: Any = rows[block]
        if not by_words(fit, family):
            rows[block] = dense(x)
            continue
        seen = columns[block] = np.unique(x.indices[x.data > 0]) if is_sparse(x) else (x > 0).any(axis=0).nonzero()[0]
        counts = np.asarray(dense(x[:, seen]), np.float64)
        # a missing row stays missing
        rows[block] = np.column_stack([counts, np.where(np.isnan(counts).any(axis=1), np.nan, 0.0)])
        if params is None:
            families[block] = family._replace(concentration=_merge_words(family.concentration, seen))
        else:
            params[f"{block}_probs"] = _merge_words(fit.model.block_params(params)[block]["probs"], seen)
    model = fit.model.with_hyperparameters(families, fit.model.class_concentration)
    if isinstance(fit, PointEstimate):
        return SeenWords(PointEstimate.trust(model, params or {}), rows, columns)
    return SeenWords(replace(fit, model=model) if isinstance(fit, Posterior) else fit, rows, columns)


def explained_terms(family: Any, params: Params, x: Array) -> LogProb:
    """The terms of the log likelihood with which ``explain`` explains a row, [N, K, F].

    Of words x log theta_w for each, with impossible words counted, and 0 for the length, [N, K, D + 1].
    """
    if not has_word_terms(family):
        return family.log_likelihood_terms(params, x)
    probs, counts = jnp.asarray(params["probs"]), counts_of(x)[:, None, :]
    cells = counts * stable.safe_log(probs)[None]
    zeros = ((probs == 0)[None] & (counts > 0)).astype(cells.dtype)
    length = jnp.zeros((*cells.shape[:2], 1), cells.dtype)
    return LogProb(jnp.concatenate([cells, length], axis=2), jnp.concatenate([zeros, length], axis=2))


def explained_predictive(family: Any, x: Array) -> Array:
    """The same terms for the exact predictive, [N, K, F]; of words they add up to the Dirichlet-multinomial.

    A word that is seen x times in a row of n words adds log Gamma(a_w + x) - log Gamma(a_w) - x log A, with A =
    sum a, and the length adds log Gamma(A) - log Gamma(A + n) + n log A.
    A word that is seen once adds the log of its posterior mean, as it does under known parameters. The length is a
    correction that vanishes as A grows, and is 0 if n is 0 or 1.
    """
    if not has_word_terms(family):
        return family.log_predictive_terms(x)
    counts, a = counts_of(x)[:, None, :], family.concentration[None]
    total, length = dirichlet.total(a), dirichlet.total(counts)
    log_total = jnp.log(total)
    cells = stable.log_gamma_ratio(a, counts) - counts * log_total
    rest = length * log_total - stable.log_gamma_ratio(total, length)
    return jnp.concatenate([cells, rest], axis=2)


def _merge_words(table: Array, shown: Array) -> Array:
    """A table of words [K, D] for the words ``shown``, and all others as one: entries of a Dirichlet may be summed."""
    others = np.ones(table.shape[1], bool)
    others[shown] = False
    # at least tiny, as it would be 0 without others
    rest = np.maximum(table[:, others].sum(axis=1, keepdims=True), np.finfo(np.float64).tiny)
    return np.concatenate([table[:, shown], rest], axis=1)
