"""Multinomial counts with a Dirichlet prior."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Self

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
from jax.scipy.special import gammaln

from bayesnb.compute.arrays import _either as either
from bayesnb.compute.arrays._cells import is_sparse, observed, row_sums
from bayesnb.compute.arrays._class_table import ClassTable, cells_at, is_class_table, whole
from bayesnb.compute.arrays._compute import compute, compute_rows
from bayesnb.compute.arrays._placement import Array
from bayesnb.compute.numerics import _dirichlet as dirichlet
from bayesnb.compute.numerics import _stable as stable
from bayesnb.compute.numerics._log_prob import LogProb
from bayesnb.compute.primitives import _log_factorials as log_factorials
from bayesnb.compute.primitives import products
from bayesnb.compute.primitives.products import Linear
from bayesnb.compute.primitives.sums import ClassSums
from bayesnb.core.families._base import Hyperparameter, LinearFamily, Params, Score, conjugate_update, pytree
from bayesnb.core.families._hyperparameters import plates
from bayesnb.core.families.parts._statistics import Statistics, require_sums, without
from bayesnb.core.families.parts._support import require_shapes, require_simplex, require_whole_rows


@pytree
class MultinomialStatistics(Statistics):
    """``counts`` [K, D]: sum of z x; ``log_base`` [K, 1]: sum of z times the log multinomial coefficients.

    Counts of many classes, of which most never saw most words, are a ``ClassTable``.
    """

    counts: Any
    log_base: Array

    axes = (("counts", "KD"), ("log_base", "K1"))

    def check(self, block: str, num_classes: int) -> None:
        if not is_class_table(self.counts):
            return super().check(block, num_classes)
        self.counts.check(f"statistics of block {block!r}", "counts")
        if np.any(self.counts.base) or np.any(np.asarray(self.counts.total) != 1):
            raise ValueError(f"statistics of block {block!r}: counts that are not stored must be 0")
        # the sums of the classes stand for the cells, which are checked
        return Statistics.check(replace(self, counts=self.counts.sum(axis=1)), block, num_classes)

    def minus(self, part: Self) -> Self:
        if is_class_table(self.counts) and is_class_table(part.counts):
            cells = without(self.counts.values, part.counts.at(self.counts.rows, self.counts.columns))
            left = ClassTable.of_cells(replace(self.counts, values=cells).own().copy())
        else:
            left = without(whole(self.counts), whole(part.counts))
        return type(self)(left, self.log_base - part.log_base)

    def require_part(self, part: Self, block: str) -> None:
        total, less, classes = self.counts, part.counts, None
        if is_class_table(total) and is_class_table(less):
            total, less, classes = total.at(less.rows, less.columns), less.values, less.rows
        require_sums(f"block {block!r}", "counts", whole(total), whole(less), classes=classes)

    def spread(self, codes: Sequence[Array], sizes: Sequence[int]) -> Self:
        """The same counts over more words: word d becomes word ``codes[0][d]`` of ``sizes[0]``."""
        if is_class_table(self.counts):
            return replace(self, counts=self.counts.spread(codes[0], *sizes))
        counts = np.zeros((self.counts.shape[0], *sizes))
        counts[:, codes[0]] = self.counts
        return replace(self, counts=counts)


@pytree
class Multinomial(LinearFamily):
    """Counts of D kinds, such as words: theta_k ~ Dirichlet(a), x_n | y_n = k, n = sum x_n ~ Multinomial(n, theta_k).

    With total counts c_d the posterior is Dirichlet(a + c); its mode is (c_d + a_d - 1) / (sum c + sum a - D), its
    mean (c_d + a_d) / (sum c + sum a). The predictive is the Dirichlet-multinomial, which is not the likelihood at
    the mean: seeing a word once makes it more likely to occur again in the same document. Minka, Estimating a Dirichlet
    distribution (2000). The length of a row is taken as given, the same for every class.

    Args:
        concentration: a, positive; broadcasts to [K, D].

    Cells are counts, non-negative and not necessarily whole. A row of the block that is all NaN is missing; a partly
    NaN row leaves its total unknown and is refused. The block counts as one feature; words of probability zero are
    counted one by one. Sites: ``block_probs`` [K, D] on the simplex.

    Sparse rows in many classes have sparse counts, and a fit of them has a sparse table in place of an array [K, D]: of
    probabilities, or of concentrations. numpy takes it as an array, and ``table[k]`` is the array of a class.

    Example:
        >>> import bayesnb as nb
        >>> fit = nb.fit_map(nb.NaiveBayes(nb.Multinomial.laplace(1.0)), [[3, 0, 1], [0, 2, 0]], [0, 1])
        >>> fit.params["x_probs"].round(3)  # (c_d + 1) / (sum c + 3)
        array([[0.571, 0.143, 0.286],
               [0.2  , 0.6  , 0.2  ]])
    """

    concentration: Hyperparameter = 1.0

    sites = ("probs",)
    axes = (("concentration", "KD"),)
    required = positive = ("concentration",)
    statistics_type = MultinomialStatistics
    support = dist.constraints.nonnegative
    one_feature = True
    takes_sparse = True

    @classmethod
    def laplace(cls, smoothing: float = 1.0) -> Self:
        """Dirichlet(1 + l): its MAP is the textbook estimate (c_d + l) / (sum c + l D)."""
        return cls(concentration=1.0 + smoothing)

    def resolve(self, pooled: Any, num_classes: int) -> Self:
        if not is_class_table(pooled.counts):
            return super().resolve(pooled, num_classes)
        pooled = replace(pooled, counts=pooled.counts.base)
        if self.num_classes is not None:  # a prior of each class is a dense array already
            return super().resolve(pooled, num_classes)
        shared = super().resolve(pooled, 1).concentration
        return self._replace(concentration=ClassTable.shared(shared, num_classes))

    def params(self, block: str) -> Params:
        concentration = whole(self.concentration)
        with plates(block, jnp.shape(concentration)[:1]):
            return {"probs": numpyro.sample(f"{block}_probs", dist.Dirichlet(concentration))}

    def likelihood(self, params: Params, total_count: Array | int = 1) -> dist.Distribution:
        return dist.Multinomial(total_count=total_count, probs=whole(params["probs"]))

    def observe(self, block: str, params: Params, x: Array | None, total_count: Array | None) -> Array:
        if not params["probs"].shape[-1]:
            return jnp.zeros(params["probs"].shape) if x is None else x
        if x is None:
            if total_count is None:
                raise ValueError(
                    f"block {block!r}: to generate Multinomial rows give total_count, the length of each row"
                )
            return numpyro.sample(block, self.likelihood(params, total_count))
        seen = self.seen(x)
        x = x if seen is None else jnp.where(seen, x, 0)
        distribution = self.likelihood(params, x.sum(axis=-1))
        return numpyro.sample(block, distribution if seen is None else distribution.mask(seen[:, 0]), obs=x)

    def check_params(self, params: Params, block: str) -> None:
        require_shapes(block, params, probs="KD")
        if is_class_table(params["probs"]):
            params["probs"].check(f"block {block!r}", "probs")
            require_simplex(block, "sums of probs", params["probs"].sum(axis=1))
        else:
            require_simplex(block, "probs", params["probs"])

    def check(self, x: Array, block: str) -> None:
        super().check(x, block)
        advice = "fill its cells, or make the whole row NaN to drop it from this block"
        require_whole_rows(x, f"block {block!r}: a row with NaN beside counts has an unknown total; {advice}")

    def seen(self, x: Array) -> Array | None:
        seen = observed(x)
        return None if seen is None else either.broadcast_to(seen.all(axis=1, keepdims=True), x.shape)

    def statistics(self, x: Array, z: ClassSums) -> MultinomialStatistics:
        seen = self.seen(x)
        log_base = z.base(lambda: self.row_base_measure(x)[:, None])
        return MultinomialStatistics(z.cells(x, seen), log_base)

    def update(self, statistics: MultinomialStatistics) -> Self:
        return self._replace(concentration=self.concentration + statistics.counts)

    def reference(self) -> Params:
        return {"probs": dirichlet.dirichlet_mean(whole(self.concentration))}

    def mode(self) -> Params:
        mode: Any = mode_of_table if is_class_table(self.concentration) else dirichlet.dirichlet_mode
        return {"probs": mode(self.concentration)}

    def mle(self, statistics: MultinomialStatistics) -> Params:
        mle: Any = mle_of_table if is_class_table(statistics.counts) else dirichlet.dirichlet_mle
        return {"probs": mle(statistics.counts)}

    def coefficients(self, params: Params) -> Linear:
        p = jnp.asarray(whole(params["probs"]))
        return Linear((stable.safe_log(p),), zeros=((p == 0).astype(p.dtype),))

    def likelihood_tables(self, params: Params) -> Any:
        return params["probs"] if is_class_table(params["probs"]) else super().likelihood_tables(params)

    def likelihood_scorer(self, tables: Any) -> Score:
        if not is_class_table(tables):
            return super().likelihood_scorer(tables)
        dense = super().likelihood_scorer
        return products.shares_of_words(tables, lambda: dense(self.coefficients({"probs": tables})))

    def log_likelihood_ratio(self, statistics: MultinomialStatistics, params: Params, reference: Params) -> Array:
        change = (whole(params["probs"]) - reference["probs"]) / reference["probs"]
        prior = whole(self.concentration)
        return dirichlet.centred_log_likelihood(whole(statistics.counts), change, prior).sum()

    def row_base_measure(self, x: Array) -> Array:
        """The log multinomial coefficient, log n! - sum log x_d!, 0 for a missing row."""
        seen = self.seen(x)
        x = x if seen is None else either.where(seen, x, 0)
        return log_factorials.row_log_coefficients(x)

    def log_predictive_terms(self, x: Array) -> Array:
        return _dirichlet_multinomial(whole(self.concentration)[None], counts_of(x)[:, None, :])

    def predictive_tables(self) -> tuple[Array, Array]:
        return self.concentration, dirichlet.total(self.concentration)

    def predictive_scorer(self, tables: tuple[Array, Array]) -> Score:
        a, total = tables
        if is_class_table(a):
            return products.rising_of_words(a, total, lambda: self.predictive_scorer((whole(a), total)))

        def score(x: Array) -> LogProb:
            lengths = row_sums(x)
            unit = products.common_unit(lengths)
            return LogProb(products.log_rising(a, x, unit) - products.log_rising(total, lengths[:, None], unit), None)

        return score

    def left_out_terms(self, statistics: MultinomialStatistics, x: Array, y: Array, weight: Array) -> Array:
        counts = counts_of(x)
        left = without(whole(statistics.counts)[y], weight[:, None] * counts)
        return _dirichlet_multinomial(whole(self.concentration)[y] + left, counts)

    def leave_one_out(self, statistics: MultinomialStatistics, x: Any, y: Array, weight: Array) -> Array:
        if not is_sparse(x):
            return super().leave_one_out(statistics, x, y, weight)
        table = compute(conjugate_update, self, statistics).log_predictive(x).finite
        own = left_out_words(self.concentration, statistics.counts, x, y, weight)
        return np.where(np.arange(table.shape[1])[None] == y[:, None], own[:, None], table)

    def leave_out_shared_words(
        self, statistics: MultinomialStatistics, x: Any, y: Array, weight: Array
    ) -> tuple[Array, Array]:
        """``leave_one_out`` of the words of each row that other rows have, [N, K], and their number, [N].

        A new row has no other words if the vocabulary was made of these rows, which is so if each word is in some row;
        else all words stay. In a row of n words, those that are here alone multiply p(x | k) by Gamma(A_k + m) /
        Gamma(A_k + n), m the others, and by what classes share.
        """
        table, pooled = self.leave_one_out(statistics, x, y, weight), statistics.counts.sum(axis=0)
        pooled = whole(pooled).reshape(-1)
        if is_sparse(x):
            row, length = np.repeat(np.arange(len(y)), np.diff(x.indptr)), row_sums(x)
            only_here = without(pooled[x.indices], weight[row] * x.data) <= 0.0
            alone = np.bincount(row, x.data * only_here, len(y))
        else:
            length, alone = compute_rows(_count_alone, (pooled,), (x, weight))
        alone = either.where((pooled > 0).all(), alone, 0.0)
        own = np.arange(table.shape[1])[None, :] == y[:, None]
        total = either.where(own, -(weight * length)[:, None], 0.0)
        for tables in (self.concentration, statistics.counts):
            total = total + tables.sum(axis=1, keepdims=True).reshape(1, -1)
        given = total + (length - alone)[:, None], either.broadcast_to(alone[:, None], total.shape)
        return table + compute_rows(_risen, (), given), length - alone

    def log_partition(self) -> Array:
        if is_class_table(self.concentration):
            return log_partition_of_table(self.concentration)
        return dirichlet.log_multivariate_beta(self.concentration)

    def log_partition_ratio(self, statistics: MultinomialStatistics) -> Array:
        tables = self.concentration, statistics.counts
        if all(map(is_class_table, tables)) and not self.concentration.values.size:  # a prior that classes share
            return log_partition_ratio_of_table(*tables)
        return dirichlet.log_multivariate_beta_ratio(*map(whole, tables))


def counts_of(x: Array) -> Array:
    """The counts in floating point, 0 in a missing row."""
    x = jnp.asarray(x, jnp.result_type(float))
    return jnp.where(jnp.isnan(x).any(axis=1, keepdims=True), 0.0, x)


def _dirichlet_multinomial(concentration: Array, counts: Array) -> Array:
    """log of Gamma(A) / Gamma(A + n) prod_d Gamma(a_d + x_d) / Gamma(a_d), the last axis kept."""
    length = dirichlet.total(counts)
    unit = products.common_unit(length)
    totals = stable.log_gamma_ratio(dirichlet.total(concentration), length, unit)
    return dirichlet.total(stable.log_gamma_ratio(concentration, counts, unit)) - totals


# the formulas of ``numerics._dirichlet`` for sparse tables


def mode_of_table(concentration: ClassTable) -> ClassTable:
    """The modes of the classes: max(a - 1, 0) renormalised, or the mean where that is all zero."""
    base, own = concentration.base, concentration.values
    raised = jnp.maximum(base - 1.0, 0.0)
    beyond = jnp.maximum(base[0, concentration.columns] + own - 1.0, 0.0) - raised[0, concentration.columns]
    modes = replace(concentration, base=raised, values=beyond)
    return _either(modes, replace(concentration, base=jnp.asarray(base)))


def mle_of_table(counts: ClassTable) -> ClassTable:
    """The shares of the counts; a class without any gets those of all classes, or the uniform distribution."""
    pooled = counts.sum(axis=0).base
    pooled = jnp.where(pooled.sum() > 0, pooled, 1.0)
    return _either(counts, replace(counts, base=pooled))


def _either(one: ClassTable, other: ClassTable) -> ClassTable:
    """The rows of one table over their sums, or of the other, which has the same places, where they are all zero."""
    sums, others = one.sum(axis=1)[:, 0], other.sum(axis=1)[:, 0]
    good = sums > 0
    return replace(
        one,
        base=jnp.concatenate([one.base, other.base]),
        group=jnp.where(good, 0, 1).astype(jnp.int32),
        total=jnp.where(good, sums, others),
        values=jnp.where(good[one.rows], one.values, other.values),
    )


def log_partition_of_table(concentration: ClassTable) -> Array:
    """The log partition of each Dirichlet, sum log Gamma(a) - log Gamma(sum a), [K, 1]."""
    alone = concentration.base[0, concentration.columns]
    cells = stable.log_gamma_ratio(alone, concentration.values)
    parts = replace(concentration, base=gammaln(concentration.base), values=cells)
    return parts.sum(axis=1) - gammaln(concentration.sum(axis=1))


def log_partition_ratio_of_table(concentration: ClassTable, counts: ClassTable) -> Array:
    """The log partition of Dirichlet(a + n) minus that of Dirichlet(a), [K, 1]: only cells with counts add to it."""
    before, change = concentration.sum(axis=1), counts.sum(axis=1)
    unit = before + change
    cells = stable.log_gamma_ratio(concentration.base[0, counts.columns], counts.values, unit[counts.rows, 0])
    parts = replace(counts, values=cells).sum(axis=1)
    return parts - stable.log_gamma_ratio(before, change, unit)


def left_out_words(concentration: Any, counts: Any, x: Any, y: Array, weight: Array) -> Array:
    """log p(x_n | class y_n, all rows but this one), [N], of the Dirichlet-multinomial, but for its coefficient.

    The tables [K, D], arrays or a ``ClassTable``, are those of the prior and of all rows; x is a scipy matrix.
    """
    row = np.repeat(np.arange(len(y)), np.diff(x.indptr))
    count, length = x.data.astype(np.float64), row_sums(x)
    before, all_ = (cells_at(table, y[row], x.indices) for table in (concentration, counts))
    words = compute_rows(_risen, (), (before + without(all_, weight[row] * count), count))
    before, all_ = (np.asarray(table.sum(axis=1, keepdims=True))[y, 0] for table in (concentration, counts))
    lengths = compute_rows(_risen, (), (before + without(all_, weight * length), length))
    return np.bincount(row, words, len(y)) - lengths


@jax.jit
def _count_alone(pooled: Array, rows: tuple[Array, Array]) -> tuple[Array, Array]:
    """The words of each row, and those of them that no other row has, [N]."""
    counts = counts_of(rows[0])
    left = without(pooled[None], rows[1][:, None] * counts)
    return counts.sum(axis=1), jnp.where(left > 0.0, 0.0, counts).sum(axis=1)


_risen = jax.jit(lambda pair: stable.log_gamma_ratio(*pair))
"""log Gamma(a + x) / Gamma(a)."""
