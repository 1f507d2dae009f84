"""Categorical features with Dirichlet priors."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from typing import Any, NamedTuple, Self

import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist

from bayesnb.compute.arrays import _either as either
from bayesnb.compute.arrays._cells import all_codes, unless_all
from bayesnb.compute.arrays._placement import Array
from bayesnb.compute.numerics import _dirichlet as dirichlet
from bayesnb.compute.numerics import _stable as stable
from bayesnb.compute.numerics._log_prob import LogProb
from bayesnb.compute.primitives import products
from bayesnb.compute.primitives._codes import Codes, declared_sizes, starts_of
from bayesnb.compute.primitives.sums import ClassSums
from bayesnb.core.families._base import Family, Hyperparameter, Params, Score, pytree
from bayesnb.core.families._hyperparameters import most_axes, plates
from bayesnb.core.families.parts._statistics import Statistics, require_sums, without
from bayesnb.core.families.parts._support import broadcast, require_cells, require_shapes, require_simplex


class EndToEnd(NamedTuple):
    """The number of categories of each column."""

    sizes: tuple[int, ...]

    @property
    def uniform(self) -> bool:
        """True if all columns have the same number of categories."""
        return len(set(self.sizes)) <= 1

    @property
    def largest(self) -> int:
        """The largest number of categories of a column."""
        return max(self.sizes, default=1)

    @property
    def columns(self) -> np.ndarray[Any, Any]:
        """The column of each entry, [S]."""
        return np.repeat(np.arange(len(self.sizes)), self.sizes)

    def total(self, flat: Array) -> Array:
        """For each entry, the sum over its column, [K, S]."""
        sums = self.of_columns(flat)
        return either.repeat(sums, self.largest, axis=1) if self.uniform else self.at_entries(sums)

    def of_columns(self, flat: Array) -> Array:
        """Sums over each column's entries, [K, D]."""
        if self.uniform:  # a vectorised sum; ``segment_sum`` adds one entry at a time
            return flat.reshape(len(flat), len(self.sizes), self.largest).sum(axis=2)
        return either.run_sums(flat, self.sizes)

    def at_entries(self, by_column: Array) -> Array:
        """The values of columns [K, D], repeated at each column's entries, [K, S]."""
        return either.take(by_column, self.columns, axis=1)

    def split(self, flat: Array) -> list[Array]:
        """A table [K, S] as [K, D, C], or as one table [K, C_d] per column if their sizes differ."""
        if self.uniform:
            return [flat.reshape(flat.shape[0], len(self.sizes), self.largest)]
        return jnp.split(flat, starts_of(self.sizes)[1:-1], axis=1)


def codes_of_one_hot(one_hot: Any, num_categories: int | Sequence[int], block: str) -> Array:
    """Codes [N, D] of one-hot columns laid end to end in a CSR matrix [N, S]; -1 where there is no 1.

    Raises:
        ValueError: for a wrong width, for cells other than 0 and 1, and for two ones in a row's cells of one column.
    """
    num_rows, width = one_hot.shape
    sizes = (num_categories,) * (width // num_categories) if isinstance(num_categories, int) else num_categories
    starts = np.cumsum((0, *sizes))
    column = np.searchsorted(starts, one_hot.indices, side="right") - 1
    row = np.repeat(np.arange(num_rows), np.diff(one_hot.indptr))
    ones = one_hot.data != 0
    codes = np.full(num_rows * len(sizes), -1, np.int32)
    if starts[-1] == width:
        codes[row[ones] * len(sizes) + column[ones]] = one_hot.indices[ones] - starts[column[ones]]
    # two ones in one column set only one code
    if starts[-1] != width or (one_hot.data[ones] != 1).any() or np.count_nonzero(codes >= 0) < ones.sum():
        raise ValueError(
            f"block {block!r}: a sparse matrix for Categorical holds the columns one-hot and end to end, "
            f"{starts[-1]} wide for these categories, with at most one 1 per column; got {width} columns; give codes, "
            "or use Bernoulli for flags that do not exclude each other"
        )
    return codes.reshape(num_rows, len(sizes))


@pytree
class CategoricalStatistics(Statistics):
    """``counts`` [K, S]: how often each category was seen; columns are laid end to end, S = sum of their C.

    Blocks of rows may contain different categories: each column of a merged table has the larger of the two sizes.
    """

    counts: Array
    sizes: tuple[int, ...] = field(metadata={"static": True})

    axes = (("counts", "KS"),)

    @property
    def num_columns(self) -> int:
        return len(self.sizes)

    def axis_sizes(self, num_classes: int) -> Mapping[str, int]:
        if not isinstance(self.sizes, tuple) or not all(type(size) is int and size > 0 for size in self.sizes):
            raise ValueError(f"the sizes of categorical columns must be positive ints, got {self.sizes!r}")
        return {"K": num_classes, "S": sum(self.sizes)}

    def merge(self, other: Self) -> Self:
        if self.sizes == other.sizes:
            return super().merge(other)
        sizes = tuple(map(max, self.sizes, other.sizes))
        return self.resize(sizes).merge(other.resize(sizes))

    def minus(self, part: Self) -> Self:
        return replace(self, counts=without(self.counts, part.resize(self.sizes).counts))

    def require_part(self, part: Self, block: str) -> None:
        of_column = np.repeat(np.arange(self.num_columns), self.sizes)
        require_sums(f"block {block!r}", "counts", self.counts, part.counts, columns=of_column)

    def columns(self) -> list[Array]:
        """The counts of each column, [K, C]."""
        return np.split(self.counts, np.cumsum(self.sizes)[:-1], axis=1)

    def resize(self, sizes: Sequence[int]) -> Self:
        """The same counts with ``sizes`` categories per column; categories that are dropped must not have counts."""
        if tuple(sizes) == self.sizes:
            return self
        resized = self._zeros(sizes)
        for old, new in zip(self.columns(), resized.columns(), strict=True):
            kept = min(old.shape[1], new.shape[1])
            new[:, :kept] = old[:, :kept]
        return resized

    def without_room(self, least: Sequence[int]) -> Self:
        """The same counts without unused last categories, but with at least ``least`` categories per column."""
        ends, counted = np.cumsum(self.sizes), np.flatnonzero(self.counts.any(axis=0))
        last = np.append(counted, -1)[np.searchsorted(counted, ends) - 1]
        used = np.maximum(last + 1 - ends + self.sizes, 1).tolist()  # up to the last with a count
        return self.resize(tuple(map(max, used, least)))

    def spread(self, codes: Sequence[Array], sizes: Sequence[int]) -> Self:
        """The same counts recoded, with other ``sizes``: category c of column d becomes ``codes[d][c]``."""
        spread = self._zeros(sizes)
        for old, new, places in zip(self.columns(), spread.columns(), codes, strict=True):
            new[:, places] = old
        return spread

    def _zeros(self, sizes: Sequence[int]) -> Self:
        return type(self)(np.zeros((self.counts.shape[0], sum(sizes))), tuple(sizes))


class LookupFamily(Family):
    """log p(x_d | k) is an entry of a table [K, S], which has the codes of all columns end to end."""

    @abstractmethod
    def codes(self, x: Array) -> Codes:
        """The cells, with the places of their codes in [0, S)."""

    def entries(self, table: Array, x: Array) -> Array:
        """The entries of a table [K, S] at the cells' codes, [N, K, D]; 0 for a missing cell."""
        places, seen = self.codes(x).places()
        found = jnp.asarray(table).T[places]
        return jnp.moveaxis(found if seen is None else jnp.where(seen[..., None], found, 0.0), -1, 1)

    def likelihood_scorer(self, tables: LogProb) -> Score:
        return products.lookup(self.codes, tables)

    predictive_scorer = likelihood_scorer

    def log_likelihood_terms(self, params: Params, x: Array) -> LogProb:
        return LogProb(*(self.entries(table, x) for table in self.likelihood_tables(params)))

    def log_predictive_terms(self, x: Array) -> Array:
        return self.entries(self.predictive_tables().finite, x)


@pytree
class Categorical(LookupFamily):
    """Unordered categories: theta_kd ~ Dirichlet(a), x_nd | y_n = k ~ Categorical(theta_kd).

    With counts n_c the posterior is Dirichlet(a + n); its mode is (n_c + a_c - 1) / (n + sum a - C), its mean, also the
    predictive, (n_c + a_c) / (n + sum a). Minka, Bayesian inference, entropy and the multinomial distribution (2003).

    Args:
        num_categories: C, an int for every column, or one int per column; NaN and codes other than 0..C-1 are missing.
        concentration: Positive: a number, [C], [D, C] or [K, D, C]; [S] or [K, S], laid end to end, if C differs.

    Sites: ``block_probs`` [K, D, C] on the simplex, or one of each column, ``block_probs_3`` [K, C_3], if C differs.

    Example:
        >>> import bayesnb as nb
        >>> nb.fit_posterior(nb.NaiveBayes(nb.Categorical(3)), [[0], [1], [2]], [0, 0, 1]).predict_proba([[2]]).round(3)
        array([[0.375, 0.625]])
    """

    num_categories: int | Sequence[int] = field(metadata={"static": True})
    concentration: Hyperparameter = 1.0

    axes = (("concentration", "KS"),)
    required = positive = ("concentration",)
    statistics_type = CategoricalStatistics
    takes_sparse = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "num_categories", declared_sizes(self.num_categories))
        super().__post_init__()

    @classmethod
    def laplace(cls, num_categories: int | Sequence[int], smoothing: float = 1.0) -> Self:
        """Dirichlet(1 + l): its MAP is the textbook estimate (n_c + l) / (n + l C)."""
        return cls(num_categories, concentration=1.0 + smoothing)

    @property
    def sites(self) -> tuple[str, ...]:  # type: ignore[override]
        if self._flat.uniform:
            return ("probs",)
        return tuple(f"probs_{d}" for d in range(len(self._sizes)))

    @property
    def site_a_column(self) -> bool:
        return not self._flat.uniform

    def resolve(self, pooled: CategoricalStatistics, num_classes: int) -> Self:
        sizes, flat, value = pooled.sizes, (num_classes, pooled.counts.shape[-1]), self.concentration
        if isinstance(self.num_categories, int) and np.ndim(value) > 0:
            value = broadcast(value, (num_classes, len(sizes), self.num_categories), "concentration").reshape(flat)
        return self._replace(num_categories=sizes, concentration=broadcast(value, flat, "concentration"))

    def axis_sizes(self, num_classes: int, num_columns: int) -> Mapping[str, int]:
        return {"K": num_classes, "S": sum(self.sizes_of(num_columns))}

    @property
    def declared_columns(self) -> int | None:
        return len(self.num_categories) if isinstance(self.num_categories, tuple) else None

    @property
    def num_columns(self) -> int:
        return len(self._sizes)

    def params(self, block: str) -> Params:
        parts = self._split(self.concentration)
        num_classes = jnp.shape(self.concentration)[0]
        shape = (num_classes, len(self._sizes)) if "probs" in parts else (num_classes,)
        with plates(block, shape):
            return {site: numpyro.sample(f"{block}_{site}", dist.Dirichlet(a)) for site, a in parts.items()}

    def likelihood(self, params: Params) -> dist.Distribution:
        if "probs" in params:
            return dist.Categorical(probs=params["probs"])
        # one distribution for columns of different sizes: categories that a column lacks have probability 0
        largest = max(self._sizes)
        columns = [params[site] for site in self.sites]
        padding = [[(0, 0)] * (p.ndim - 1) + [(0, largest - p.shape[-1])] for p in columns]
        return dist.Categorical(probs=jnp.stack([jnp.pad(p, w) for p, w in zip(columns, padding, strict=True)], -2))

    def observe(self, block: str, params: Params, x: Array | None, total_count: Array | None) -> Array:
        if x is not None:
            seen = self.seen(x)
            x = jnp.asarray(x if seen is None else jnp.where(seen, x, -1)).astype(int)
        return super().observe(block, params, x, total_count)

    def check_params(self, params: Params, block: str) -> None:
        for site, size in zip(self.sites, self._sizes, strict=False):
            require_shapes(block, params, **{site: "KC" if self.site_a_column else "KDC"})
            value = params[site]
            if value.shape[-1] != size:
                raise ValueError(f"params['{block}_{site}'] must have {size} categories, got shape {value.shape}")
            require_simplex(block, site, value)

    def check(self, x: Array, block: str) -> None:
        if not jnp.issubdtype(x.dtype, jnp.floating) or all_codes(x, np.inf):
            return
        expected = "a Categorical cell is a whole code 0, 1, ... or NaN (missing)"
        advice = "recode the column, or use Normal for measurements"
        require_cells(x, lambda cells: either.isnan(cells) | (either.floor(cells) == cells), block, expected, advice)

    def seen(self, x: Array) -> Array | None:
        if all_codes(x, min(self._sizes, default=0)):
            return None
        # NaN compares False; undeclared codes are missing, and so are fractions, which get here only under jit
        sizes = self.num_categories if isinstance(self.num_categories, int) else [self._sizes]
        seen = (x >= 0) & (x < np.asarray(sizes, np.int32))  # the sizes may exceed the range of the codes' type
        return unless_all(seen & (either.floor(x) == x) if jnp.issubdtype(x.dtype, jnp.floating) else seen)

    def statistics(self, x: Array, z: ClassSums) -> CategoricalStatistics:
        sizes = self.sizes_of(x.shape[1])
        return CategoricalStatistics(z.table(self.codes(x), sum(sizes)), sizes)

    def update(self, statistics: CategoricalStatistics) -> Self:
        return self._replace(concentration=self.concentration + statistics.counts)

    def reference(self) -> Params:
        return self._split(dirichlet.dirichlet_mean(self.concentration, self._flat.total))

    def mode(self) -> Params:
        return self._split(dirichlet.dirichlet_mode(self.concentration, self._flat.total))

    def mle(self, statistics: CategoricalStatistics) -> Params:
        return self._split(dirichlet.dirichlet_mle(statistics.counts, self._flat.total))

    def likelihood_tables(self, params: Params) -> LogProb:
        p = self.join(params)
        return LogProb(stable.safe_log(p), (p == 0).astype(p.dtype))

    def log_likelihood_ratio(self, statistics: CategoricalStatistics, params: Params, reference: Params) -> Array:
        t = self.join(reference)
        change = (self.join(params) - t) / t
        return dirichlet.centred_log_likelihood(statistics.counts, change, self.concentration).sum()

    def left_out_terms(self, statistics: CategoricalStatistics, x: Array, y: Array, weight: Array) -> Array:
        places, seen = self.codes(x).places()
        tables = self.concentration, statistics.counts
        # one index into a flat table is three times as fast as two, and sums over columns are looked up by row
        at = y[:, None] * tables[0].shape[1] + places
        own, count = (jnp.take(table.ravel(), at, mode="clip").reshape(places.shape) for table in tables)
        prior, total = (self._flat.of_columns(table)[y] for table in tables)
        left, rest = without(count, weight[:, None], total), without(total, weight[:, None])
        terms = jnp.log((own + left) / (prior + rest))
        return terms if seen is None else jnp.where(seen, terms, 0.0)

    def predictive_tables(self) -> LogProb:
        # a pseudo-count that underflows to zero must not make its category impossible
        counts, tiny = self.concentration, jnp.finfo(self.concentration.dtype).tiny
        # take the logs before the totals are repeated at each entry, not after
        totals = self._flat.at_entries(either.log(either.maximum(self._flat.of_columns(counts), tiny)))
        return LogProb(either.log(either.maximum(counts, tiny)) - totals, None)

    def log_partition(self) -> Array:
        return dirichlet.log_multivariate_beta(self.concentration, self._flat.total)[:, starts_of(self._sizes)[:-1]]

    def log_partition_ratio(self, statistics: CategoricalStatistics) -> Array:
        ratio = dirichlet.log_multivariate_beta_ratio(self.concentration, statistics.counts, self._flat.total)
        return ratio[:, starts_of(self._sizes)[:-1]]

    # columns laid end to end

    @property
    def _sizes(self) -> tuple[int, ...]:
        return self.sizes_of(1)

    def category_sizes(self, num_columns: int) -> tuple[int, ...]:
        return self.sizes_of(num_columns)

    def sizes_of(self, num_columns: int) -> tuple[int, ...]:
        """The number of categories of each of ``num_columns`` columns of parameters."""
        given = self.num_categories
        return (given,) * num_columns if isinstance(given, int) else tuple(given)

    def codes(self, x: Array) -> Codes:
        """The cells, with the places of their categories in [0, S); ValueError for a wrong number of columns."""
        sizes = self.sizes_of(x.shape[1])
        if len(sizes) != x.shape[1]:
            raise ValueError(f"rows have {x.shape[1]} columns, but categories were declared for {len(sizes)}")
        return Codes(x, starts_of(sizes), self.seen)

    @property
    def _flat(self) -> EndToEnd:
        return EndToEnd(self._sizes)

    def _split(self, flat: Array) -> dict[str, Array]:
        """A table [K, S] split into the parameters' sites."""
        return dict(zip(self.sites, self._flat.split(flat), strict=True))

    def join(self, params: Params) -> Array:
        """The parameters' sites joined into a table [K, S]."""
        parts = [jnp.asarray(params[site]) for site in self.sites]
        return jnp.concatenate([p.reshape(p.shape[0], -1) for p in parts], axis=1)


most_axes.register(Categorical, lambda family, _name: 3 if isinstance(family.num_categories, int) else 2)
