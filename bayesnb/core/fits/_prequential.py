"""Prediction of each row from the rows before it, which count less the longer ago they are.

    log p(y_t, x_t | rows before) with weights f^(t - s) on the row s before row t, f the forgetting factor

What is known before row t is a discounted sum of the statistics of single rows. A discounted posterior is raised to a
power, as in the steady forecasting model of Smith, A generalization of the Bayesian steady forecasting model (1979):
the prior of the next row lies between it and the prior. The factor itself can be learned, by ``fit_forgetting``.

Flags, categories and reals have compiled loops, ``log_predictive_in_order``; of other cells JAX scans the rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial, singledispatch
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from scipy.optimize import minimize_scalar

from bayesnb.compute.arrays import _limits as limits
from bayesnb.compute.arrays._compute import compute
from bayesnb.compute.arrays._placement import Node, allow_promotion, pad_rows, pytree, to_double, to_host
from bayesnb.compute.arrays._typing import Array, ArrayLike, LabelsLike, Rows
from bayesnb.compute.primitives._in_order import log_category_ratios, log_student_densities
from bayesnb.compute.primitives.sums import Labels, class_sums
from bayesnb.core.families._base import Family
from bayesnb.core.families._bernoulli import Bernoulli
from bayesnb.core.families._categorical import Categorical
from bayesnb.core.families._normal import Normal
from bayesnb.core.fits._closed_form import conjugate, fit_posterior
from bayesnb.core.model._naive_bayes import NaiveBayes
from bayesnb.core.results._classifier import Posterior
from bayesnb.core.rows._arguments import check_factors, require_known
from bayesnb.core.rows._checks import check_values
from bayesnb.core.rows._labelled_rows import label_rows
from bayesnb.core.rows._sufficient_statistics import ModelStatistics, sufficient_statistics


def prequential(model: NaiveBayes, X: Rows, y: ArrayLike, forgetting: float | Mapping[str, float] = 1.0) -> Array:
    """log p(y_t, x_t | rows before, discounted) of every row in order, [N], exact, in one pass.

    The sum is the prequential evidence (Dawid, Statistical theory: the prequential approach, 1984). Without forgetting
    it is the log evidence of all rows, under the same resolved prior.

    Args:
        model: The specification; hyperparameters that are left to the data are resolved from all rows.
        X: An array [N, D], or a dict of arrays by block, in the order of time; NaN is missing.
        y: Integers 0..K-1 [N].
        forgetting: The factor f in [0, 1] by which each new row discounts all earlier ones; 1 forgets nothing. Or a
            dict of one for each block and for "label", the class probabilities.

    Raises:
        ValueError: if rows, labels or factors do not fit; for soft labels; inside a JAX transformation.

    Example:
        >>> import bayesnb as nb
        >>> model = nb.NaiveBayes(nb.Bernoulli(), num_classes=1)
        >>> nb.prequential(model, [[1], [1], [0]], [0, 0, 0]).round(3)  # log of 1/2, 2/3, 1/4
        array([-0.693, -0.405, -1.386])
    """
    require_known("a prediction of rows in order", forgetting)
    rows = Sequence(model, X, y)
    factors = check_factors(forgetting, rows.parts[1:], "forgetting")
    found = np.sum([rows.log_probs(part, float(factor)) for part, factor in factors.items()], axis=0)
    return jnp.asarray(found) if rows.of_jax else found


class Sequence:
    """Checked rows in order on the host, under a resolved prior."""

    def __init__(self, model: NaiveBayes, X: Any, y: Any) -> None:
        require_known("a prediction of rows in order", model, X, y)
        self.prior = conjugate(model).resolve(X, y)
        rows = label_rows(self.prior, X, y, sparse=False)
        if rows.labels.soft:
            raise ValueError("rows in order need integer labels [N]: a row with soft labels belongs to every class")
        check_values(rows.families, rows.arrays, fit=True)
        self.of_jax = not rows.on_host or rows.like is not None
        self.arrays, self.y = to_host((rows.arrays, rows.labels.y))
        self.num_classes = rows.num_classes
        self.model = to_double(self.prior.with_hyperparameters(rows.families, self.prior.class_concentration))
        self.parts = ["label", *rows.families]

    def log_probs(self, part: str, factor: float) -> Array:
        """log p of the labels, or of the cells of one block given them, in order, [N]."""
        if part == "label":
            return self._of_labels(factor)
        family, x = self.model.families[part], self.arrays[part]
        terms = log_predictive_in_order(family, x, self.y, factor)
        if terms is None:
            rows = pad_rows(x), pad_rows(self.y)  # so that few sizes are compiled; no row depends on later ones
            terms = compute(_scan, family, *rows, np.asarray(factor), num_classes=self.num_classes)[: len(x)]
        base = family.row_base_measure(x)
        return terms if base is None else terms + base

    def evidence(self, parts: list[str], factor: float) -> float:
        """The prequential evidence of these parts under a common factor."""
        return float(sum(self.log_probs(part, factor).sum() for part in parts))

    def _of_labels(self, factor: float) -> Array:
        if self.model.class_probs is not None:
            with np.errstate(divide="ignore"):  # a class of probability zero
                return np.log(np.asarray(self.model.class_probs, float))[self.y]
        prior = np.asarray(self.model.class_concentration, float)[None]
        return log_category_ratios(prior, (prior.size,), self.y[:, None], np.zeros_like(self.y), factor)


@singledispatch
def log_predictive_in_order(family: Any, x: Array, y: Array, factor: float) -> Array | None:
    """log p(x_n | y_n, rows before, which fade), [N], of numpy rows by a loop; None if the family has none."""
    del family, x, y, factor
    return None


@log_predictive_in_order.register(Bernoulli)
def _of_flags(family: Any, x: Array, y: Array, factor: float) -> Array:
    prior = np.stack([family.b, family.a], axis=-1).reshape(len(family.a), -1)
    return log_category_ratios(prior, family.category_sizes(x.shape[1]), x, y, factor)


@log_predictive_in_order.register(Categorical)
def _of_categories(family: Any, x: Array, y: Array, factor: float) -> Array:
    return log_category_ratios(family.concentration, family.category_sizes(x.shape[1]), x, y, factor)


@log_predictive_in_order.register(Normal)
def _of_reals(family: Any, x: Array, y: Array, factor: float) -> Array | None:
    return None if family.common_sites else log_student_densities(family.prior, x, y, factor)


@partial(jax.jit, static_argnames="num_classes")
def _scan(family: Family, x: Array, y: Array, factor: Array, num_classes: int) -> Array:
    """log p(x_n | y_n, rows before, which fade), [N], without the base measure, of any family."""
    by_class = [name for name, letters in family.axes if letters[0] in "KT"]

    def count(x: Array, y: Array) -> Any:
        found = family.statistics(x[None], class_sums(Labels(y[None], None), num_classes))
        return jax.tree.map(lambda a: a.astype(jnp.promote_types(a.dtype, jnp.result_type(float))), found)

    def predict(seen: Any, row: tuple[Array, Array]) -> tuple[Any, Array]:
        (x, y), before = row, seen.discount(factor)
        if family.common_sites:
            terms = family.update(before).log_predictive_terms(x[None])[0, y]
        else:  # its class alone, as no other tells anything of it
            prior = family._replace(**{name: getattr(family, name)[y][None] for name in by_class})
            own = jax.tree.map(lambda a: a[y][None], before)
            terms = prior.update(own).log_predictive_terms(x[None])[0, 0]
        return before.merge(count(x, y)), terms.sum()

    with allow_promotion():
        nothing = count(x[0], jnp.asarray(num_classes))  # a label beyond all classes
        return jax.lax.scan(predict, nothing, (x, y))[1]


@pytree
class Forgetting(Node):
    """What ``fit_forgetting`` returns.

    ``factor`` is the learned factor, or a dict of one for each block and for "label"; ``log_evidence`` is the
    prequential evidence there; ``fit`` is the posterior after the last row, in which the others have faded.

    Example:
        >>> import bayesnb as nb
        >>> X, y = [[1], [1], [1], [1], [0], [0], [0], [0]], [0] * 8  # the stream turns
        >>> found = nb.fit_forgetting(nb.NaiveBayes(nb.Bernoulli(), num_classes=1), X, y)
        >>> round(found.factor, 1), round(found.log_evidence, 1), found.fit.model.families["x"].b.round(1)
        (0.5, -4.8, array([[2.8]]))
    """

    factor: float | dict[str, float]
    log_evidence: float
    fit: Posterior


def fit_forgetting(model: NaiveBayes, X: Rows, y: LabelsLike, *, per_block: bool = False) -> Forgetting:
    """The forgetting factor that maximises the prequential evidence of rows in order.

        f = argmax sum_t log p(y_t, x_t | rows before, discounted by f a row)

    The evidence is looked at for five memories from all rows to three, and by Brent's method around the best of them.
    On a stream that does not change f is 1 or nearly so: learned from 2,000 rows of four flags it costs the next 2,000
    less than .001 nats a row.

    Args:
        model: The specification; hyperparameters that are left to the data are resolved from all rows.
        X: An array [N, D], or a dict of arrays by block, in the order of time; NaN is missing.
        y: Integers 0..K-1 [N].
        per_block: Learn one factor for each block, and one for the class probabilities.

    Raises:
        ValueError: as ``prequential``.

    Example:
        >>> import bayesnb as nb
        >>> X, y = [[1], [1], [1], [1], [0], [0], [0], [0]], [0] * 8  # the stream turns
        >>> nb.fit_forgetting(nb.NaiveBayes(nb.Bernoulli(), num_classes=1), X, y).factor < 1.0
        True
    """
    rows = Sequence(model, X, y)
    groups = [[part] for part in rows.parts] if per_block else [rows.parts]
    found = [(parts, *_best(partial(rows.evidence, parts))) for parts in groups]
    factors = {part: factor for parts, factor, _ in found for part in parts}
    age = np.arange(len(rows.y))[::-1].astype(float)
    faded = {
        factor: sufficient_statistics(rows.prior, X, y, sample_weight=np.power(factor, age))
        for factor in {*factors.values()}
    }
    blocks = {name: faded[factors[name]].blocks[name] for name in rows.prior.families}
    fit = fit_posterior(rows.prior, statistics=ModelStatistics(faded[factors["label"]].class_counts, blocks))
    return Forgetting(factors if per_block else factors["label"], sum(value for *_, value in found), fit)


def _best(evidence: Callable[[float], float]) -> tuple[float, float]:
    """The factor of the largest evidence, and the evidence; as a function of the log of the memory 1 / (1 - f)."""

    def loss(memory: float) -> float:
        return -evidence(1.0 - float(np.exp(-memory)))

    # memories at which the search looks first, besides all rows
    starts, keep_all = np.log([3000.0, 300.0, 30.0, 3.0]), evidence(1.0)
    values = [-loss(start) for start in starts]
    start = int(np.argmax(values))
    if keep_all >= values[start] and keep_all >= evidence(1.0 - 1.0 / limits.LONGEST_MEMORY):
        return 1.0, keep_all
    around = [np.log(limits.LONGEST_MEMORY), *starts, 0.0]
    found = minimize_scalar(loss, bounds=(around[start + 2], around[start]), method="bounded", options={"xatol": 1e-5})
    return (1.0 - float(np.exp(-found.x)), -float(found.fun)) if -found.fun > keep_all else (1.0, keep_all)
