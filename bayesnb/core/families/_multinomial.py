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

from bayesnb.compute.arrays import _either as either
from bayesnb.compute.arrays._cells import is_sparse, observed, row_sums
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
from bayesnb.core.families.parts._statistics import Statistics, without
from bayesnb.core.families.parts._support import require_shapes, require_simplex, require_whole_rows


@pytree
class MultinomialStatistics(Statistics):
    """``counts`` [K, D]: sum of z x; ``log_base`` [K, 1]: sum of z times the log multinomial coefficients."""

    counts: Array
    log_base: Array

    axes = (("counts", "KD"), ("log_base", "K1"))

    def spread(self, codes: Sequence[Array], sizes: Sequence[int]) -> Self:
        """The same counts over more words: word d becomes word ``codes[0][d]`` of ``sizes[0]``."""
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

    def params(self, block: str) -> Params:
        with plates(block, jnp.shape(self.concentration)[:1]):
            return {"probs": numpyro.sample(f"{block}_probs", dist.Dirichlet(self.concentration))}

    def likelihood(self, params: Params, total_count: Array | int = 1) -> dist.Distribution:
        return dist.Multinomial(total_count=total_count, probs=params["probs"])

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
        return MultinomialStatistics(z.sum(x, seen), log_base)

    def update(self, statistics: MultinomialStatistics) -> Self:
        return self._replace(concentration=self.concentration + statistics.counts)

    def reference(self) -> Params:
        return {"probs": dirichlet.dirichlet_mean(self.concentration)}

    def mode(self) -> Params:
        return {"probs": dirichlet.dirichlet_mode(self.concentration)}

    def mle(self, statistics: MultinomialStatistics) -> Params:
        return {"probs": dirichlet.dirichlet_mle(statistics.counts)}

    def coefficients(self, params: Params) -> Linear:
        p = jnp.asarray(params["probs"])
        return Linear((stable.safe_log(p),), zeros=((p == 0).astype(p.dtype),))

    def log_likelihood_ratio(self, statistics: MultinomialStatistics, params: Params, reference: Params) -> Array:
        change = (params["probs"] - reference["probs"]) / reference["probs"]
        return dirichlet.centred_log_likelihood(statistics.counts, change, self.concentration).sum()

    def row_base_measure(self, x: Array) -> Array:
        """The log multinomial coefficient, log n! - sum log x_d!, 0 for a missing row."""
        seen = self.seen(x)
        x = x if seen is None else either.where(seen, x, 0)
        return log_factorials.row_log_coefficients(x)

    def log_predictive_terms(self, x: Array) -> Array:
        return _dirichlet_multinomial(self.concentration[None], counts_of(x)[:, None, :])

    def predictive_tables(self) -> tuple[Array, Array]:
        return self.concentration, dirichlet.total(self.concentration)

    def predictive_scorer(self, tables: tuple[Array, Array]) -> Score:
        a, total = tables

        def score(x: Array) -> LogProb:
            lengths = row_sums(x)
            unit = products.common_unit(lengths)
            return LogProb(products.log_rising(a, x, unit) - products.log_rising(total, lengths[:, None], unit), None)

        return score

    def left_out_terms(self, statistics: MultinomialStatistics, x: Array, y: Array, weight: Array) -> Array:
        counts = counts_of(x)
        left = without(statistics.counts[y], weight[:, None] * counts)
        return _dirichlet_multinomial(self.concentration[y] + left, counts)

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
        return dirichlet.log_multivariate_beta(self.concentration)

    def log_partition_ratio(self, statistics: MultinomialStatistics) -> Array:
        return dirichlet.log_multivariate_beta_ratio(self.concentration, statistics.counts)


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


def left_out_words(concentration: Array, counts: Array, x: Any, y: Array, weight: Array) -> Array:
    """log p(x_n | class y_n, all rows but this one), [N], of the Dirichlet-multinomial, but for its coefficient.

    The tables [K, D] are those of the prior and of all rows; x is a scipy matrix.
    """
    row = np.repeat(np.arange(len(y)), np.diff(x.indptr))
    count, length = x.data.astype(np.float64), row_sums(x)
    before, all_ = (np.asarray(table)[y[row], x.indices] for table in (concentration, counts))
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
