"""What explanations, tables, plots and files need to know about a family, with defaults that it may override."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import product
from math import prod
from typing import Any, ClassVar, NamedTuple, Self

import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist

from bayesnb.arrays.placement import Array
from bayesnb.numerics.log_prob import LogProb

FAR = 3.5
"""How far a plotted density extends beyond the classes' means, in standard deviations."""

POINTS = 301
"""The number of points on a plotted density."""


class CellDensities(NamedTuple):
    """``values`` [V] of one column, and ``densities`` [S, K, V], their densities or probabilities under every draw."""

    values: Array
    densities: Array


class Traits:
    """Traits of a family; the defaults suit one term per column and parameters [K, D], or [D] if classes share them."""

    one_feature: ClassVar[bool] = False
    """True if the block is one feature: its likelihood is not a product over columns."""

    has_word_terms: ClassVar[bool] = False
    """True if this one feature still splits into terms: one for each word, and a last one for the length."""

    has_class_tables: ClassVar[bool] = False
    """True if sums of sparse rows in many classes may be a ``ClassTable``."""

    sites: ClassVar[tuple[str, ...]]
    """The short names of the parameters."""

    affine_predictive: ClassVar[bool] = False
    """True if the exact predictive is the likelihood at the posterior mean, and so has the same ``form``."""

    needs_closed_form: ClassVar[bool] = False
    """True if the program has discrete sites besides the label: neither gradients nor EM's MAP can move them."""

    likelihood: Callable[..., dist.Distribution]
    reference: Callable[..., Mapping[str, Array]]
    log_likelihood_terms: Callable[..., LogProb]
    seen: Callable[..., Array | None]
    log_predictive_terms: Callable[..., Array]

    @property
    def common_sites(self) -> tuple[str, ...]:
        """The parameters that all classes share: they have no class axis."""
        return ()

    def untie(self) -> Self:
        """The same family with parameters of its own for each class, as by default."""
        return self

    # sizes and formulas

    def num_parameters(self, num_columns: int) -> tuple[int, int]:
        """The number of free parameters of each class, and the number that all classes share."""
        common = len(self.common_sites)
        return (len(self.sites) - common) * num_columns, common * num_columns

    def num_values(self, num_columns: int) -> int | None:
        """The number of different rows that the block can have; None if it is infinite."""
        sizes = self.category_sizes(num_columns)
        return prod(sizes) if all(sizes) else None

    def form(self, params: Mapping[str, Array]) -> tuple[Array | None, Array, Array] | None:
        """A [K, D, D], w [K, F], b [K] with log p(x | y = k) = x' A x + w x + b, up to a term that all classes share.

        A is None if the log odds are affine. The result is None if log p of a complete row has no such form. Pure JAX.
        """
        del params
        return None

    # cells

    @property
    def continuous(self) -> bool:
        """True if cells are measurements, False if they are counts or codes."""
        return not self.likelihood(self.reference()).support.is_discrete

    @property
    def density_share(self: Any) -> Array:
        """The share of each column's values that have a density, in the unit of the column, and no probability, [D]."""
        return np.full(self.num_columns, float(self.continuous))

    def density_weight(self, statistics: Any, num_rows: float) -> Array:
        """The weight of the cells of each column that have a density, [D]."""
        share, seen = self.density_share, statistics.observed_cells
        return share * (num_rows if seen is None or not share.any() else seen.sum(axis=0))

    @property
    def num_parts(self) -> int:
        """How many arrays make up the block's rows: 2 for a pair (successes, totals)."""
        return 1

    def category_sizes(self, num_columns: int) -> tuple[int, ...]:
        """C for each column whose cells are codes 0..C-1, and 0 for the others."""
        return (0,) * num_columns

    def table_sizes(self, num_columns: int) -> tuple[int, ...]:
        """The entries of each column in ``predictive_tables`` that are log probabilities; by default its categories."""
        return self.category_sizes(num_columns)

    def cell_densities(self, params: Mapping[str, Array], column: int) -> CellDensities:
        """The values of a column and their densities, for draws of the parameters [S, K, D]."""
        law = self.cell_law(params, column)
        values = plot_values(law)
        return CellDensities(values, jnp.exp(law.log_prob(values[None, None])))

    def cell_law(self, params: Mapping[str, Array], column: int) -> dist.Distribution:
        """The distribution of a column's cells under every draw, [S, K, 1]."""
        return self.likelihood({site: self._at(site, value, column) for site, value in params.items()})

    def _at(self, site: str, value: Array, column: int) -> Array:
        at = jnp.asarray(value)[..., column, None]
        return at[:, None] if site in self.common_sites else at

    # terms of the log odds

    def term_sizes(self, num_columns: int) -> tuple[int, ...]:
        """The number of terms of ``divergence`` in each column."""
        return (1,) * num_columns

    def means(self, params: Mapping[str, Array]) -> Array:
        """The mean of each term's cell in every class, [K, F]."""
        return self.likelihood(params).mean

    def divergence(self, params: Mapping[str, Array], k: int) -> Array:
        """E[log p(x_f | k) - log p(x_f | j) | y = k] for each term f and class j, [K, F]."""
        del params, k
        raise ValueError(
            f"top_features needs the divergence of {type(self).__name__} between classes: define divergence(params, k)"
        )

    def explained_terms(self, params: Mapping[str, Array], x: Array) -> LogProb:
        """The terms of the log likelihood with which ``explain`` explains a row, [N, K, F]."""
        return self.log_likelihood_terms(params, x)

    def explained_predictive(self, x: Array) -> Array:
        """The same terms for the exact predictive, [N, K, F]."""
        return self.log_predictive_terms(x)

    def merge_words(self, params: Mapping[str, Array] | None, shown: Array) -> tuple[Self, Mapping[str, Array] | None]:
        """The family and parameters for the words ``shown``, with all other words merged into a last one."""
        del params, shown
        raise ValueError(f"{type(self).__name__} has word terms: explain needs merge_words(params, shown)")

    # names

    def site_axes(self, site: str, columns: Sequence[Any]) -> dict[str, Sequence[Any]]:
        """The labels along each axis of a site except the class axis, by name of the axis."""
        del site
        return {"features": columns}

    def site_labels(self, site: str, columns: Sequence[str]) -> tuple[str, ...]:
        """A label for each entry of a site in one class."""
        return tuple(", ".join(map(str, names)) for names in product(*self.site_axes(site, columns).values()))


def plot_values(law: dist.Distribution) -> Array:
    """The values [V] at which a plot shows the distributions [S, K, 1] of one column."""
    if law.has_enumerate_support:
        return np.asarray(law.enumerate_support(expand=False)).ravel()
    mean, variance = np.asarray(law.mean), np.asarray(law.variance)
    if law.support.is_discrete:
        most, width = mean.mean(axis=0).max(), np.sqrt(variance.mean(axis=0).max())
        return np.arange(int(most + FAR * width) + 2)
    middle, far = mean.mean(axis=0), FAR * np.sqrt(np.median(variance, axis=0))
    low, high = (middle - far).min(), (middle + far).max()
    least = float(getattr(law.support, "lower_bound", -np.inf))
    return np.linspace(max(low, least + (high - least) / POINTS) if np.isfinite(least) else low, high, POINTS)
