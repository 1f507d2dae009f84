"""Families whose columns share parameters: the block is one feature, as the cells of a row depend on each other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpyro.distributions as dist

from bayesnb.compute.arrays._placement import Array, pytree
from bayesnb.compute.primitives.sums import ClassSums, Labels, class_sums
from bayesnb.core.families._base import Family, Params, Score
from bayesnb.core.families._bernoulli import Bernoulli
from bayesnb.core.families._categorical import Categorical
from bayesnb.core.families._hyperparameters import values_of
from bayesnb.core.families._normal import Normal
from bayesnb.core.families._poisson import Poisson


class TiedColumns(Family):
    """x_nd | y_n = k ~ F(theta_k,g(d)), with one parameter for each group g of columns.

    Given the parameters, cells are independent. With the parameters integrated out those of a group are not: the
    predictive of a row is joint, the ratio of the evidence with the row to that without it.

    Parameters and hyperparameters are those of the family ``untied`` with a column for each group.
    """

    columns: tuple[int, ...]
    """The group of each column, g(d) in 0..G-1, numbered in the order of their first columns."""

    untied: ClassVar[type[Family]]
    """The family whose columns have parameters of their own."""

    column_axis: ClassVar[int] = -1
    """The axis of columns in parameters."""

    one_feature = True
    takes_sparse = False

    def __post_init__(self) -> None:
        super().__post_init__()
        whole = isinstance(self.columns, tuple) and all(type(group) is int for group in self.columns)
        if not whole or not self.columns or [*dict.fromkeys(self.columns)] != [*range(self.num_groups)]:
            raise ValueError(
                f"{type(self).__name__}: columns is a tuple with the group of each column, 0, 1, ... in the order of "
                f"their first columns, got {self.columns!r}"
            )

    @property
    def num_groups(self) -> int:
        """G, the number of groups of columns."""
        return len({*self.columns})

    @property
    def wide(self) -> Family:
        """The family ``untied`` with as many columns as the rows; its hyperparameters are not used."""
        structure = {name: value for name, value in values_of(self, static=True).items() if name != "columns"}
        sizes = structure.get("num_categories")
        if isinstance(sizes, tuple):
            structure["num_categories"] = tuple(sizes[group] for group in self.columns)
        return self.untied(**structure)

    def spread(self, params: Params) -> Params:
        """The parameters of ``wide``: each group's for each of its columns."""
        index = jnp.asarray(self.columns)
        return {site: jnp.take(jnp.asarray(v), index, axis=self.column_axis) for site, v in params.items()}

    # sizes

    def axis_sizes(self, num_classes: int, num_columns: int) -> Mapping[str, int]:
        del num_columns
        return super().axis_sizes(num_classes, self.num_groups)

    @property
    def declared_columns(self) -> int:
        return len(self.columns)

    num_columns = declared_columns

    def category_sizes(self, num_columns: int) -> tuple[int, ...]:
        return self.wide.category_sizes(num_columns)

    # rows

    def check_params(self, params: Params, block: str) -> None:
        super().check_params(params, block)
        for site, value in params.items():
            if value.shape[1] != self.num_groups:
                raise ValueError(
                    f"params['{block}_{site}'] must have {self.num_groups} columns, one for each group of columns that "
                    f"share parameters, got shape {value.shape}"
                )

    def seen(self, x: Array) -> Array | None:
        return self.wide.seen(x)

    def likelihood(self, params: Params) -> dist.Distribution:
        return self.wide.likelihood(self.spread(params))

    def statistics(self, x: Array, z: ClassSums) -> Any:
        return self.wide.statistics(x, z).join_columns(self.columns)

    def likelihood_tables(self, params: Params) -> Any:
        return self.wide.likelihood_tables(self.spread(params))

    def likelihood_scorer(self, tables: Any) -> Score:
        return self.wide.likelihood_scorer(tables)

    log_likelihood_terms = Family.log_likelihood_terms  # not those of ``untied``, here and below

    # the exact predictive of a row, a ratio of evidences

    predictive_tables = Family.predictive_tables
    predictive_scorer = Family.predictive_scorer
    left_out_terms = Family.left_out_terms
    leave_one_out_terms = Family.leave_one_out_terms

    def log_predictive_terms(self, x: Array) -> Array:
        return jax.vmap(self._log_evidence_of_row)(jnp.asarray(x))[..., None]

    def _log_evidence_of_row(self, row: Array) -> Array:
        """The log evidence of one row in each class, [K], without its ``row_base_measure``."""
        one = self.statistics(row[None], class_sums(Labels(jnp.zeros(1, int), None), 1))
        terms = self.log_partition_ratio(one) + self.log_base_measure(one)
        base = self.row_base_measure(row[None])
        return terms.sum(axis=1) - (0.0 if base is None else base)


@pytree
class TiedBernoulli(TiedColumns, Bernoulli):
    """Binary features with one probability for each group of columns; hyperparameters broadcast to [K, G]."""

    columns: tuple[int, ...] = field(default=(0,), metadata={"static": True})

    untied = Bernoulli


@pytree
class TiedCategorical(TiedColumns, Categorical):
    """Unordered categories with one table of probabilities for each group of columns, all with C categories."""

    columns: tuple[int, ...] = field(default=(0,), metadata={"static": True})

    untied = Categorical
    column_axis = -2


@pytree
class TiedNormal(TiedColumns, Normal):
    """Real features with one mean and variance for each group of columns; the classes share none."""

    columns: tuple[int, ...] = field(default=(0,), metadata={"static": True})

    untied = Normal


@pytree
class TiedPoisson(TiedColumns, Poisson):
    """Counts with one rate for each group of columns."""

    columns: tuple[int, ...] = field(default=(0,), metadata={"static": True})

    untied = Poisson
