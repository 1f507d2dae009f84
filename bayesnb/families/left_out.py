"""Exact leave-one-out terms of a family: a row's own contribution is removed from the statistics of all rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import singledispatch
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from bayesnb.arrays import either
from bayesnb.arrays.compute import compute, compute_rows, interpret
from bayesnb.arrays.placement import Array
from bayesnb.primitives import products
from bayesnb.primitives.sums import Labels, class_sums


class LeftOut(ABC):
    """The predictive of rows without themselves; ``self`` is the prior, the statistics are those of all rows."""

    update: Callable[[Any], Any]
    statistics: Callable[..., Any]

    @property
    @abstractmethod
    def common_sites(self) -> tuple[str, ...]:
        """The parameters that all classes share."""

    def left_out_terms(self, statistics: Any, x: Array, y: Array, weight: Array) -> Array:
        """log p(x_d | class y_n, all rows but this one), [N, D], from a prior and all rows' statistics. Pure JAX.

        By default the row's own statistics are taken away, row by row; a family knows what they change.
        """

        def of_row(row: Array, k: Array, weight: Array) -> Array:
            prior, found = (jax.tree.map(lambda table: table[k][None], of) for of in (self, statistics))
            own = self.statistics(row[None], class_sums(Labels(jnp.zeros(1, int), weight[None]), 1))
            return prior.update(found.minus(own)).log_predictive_terms(row[None])[0, 0]

        return jax.vmap(of_row)(jnp.asarray(x), y, weight)

    def leave_one_out_terms(self, statistics: Any, x: Array, y: Array, weight: Array) -> Array:
        """log p(x_d | y = k, all rows but this one), [N, K, D]: only the row's own class changes. Pure JAX."""
        terms = self.update(statistics).log_predictive_terms(x)
        own = jnp.arange(terms.shape[1])[None, :] == y[:, None]
        return jnp.where(own[:, :, None], self.left_out_terms(statistics, x, y, weight)[:, None, :], terms)

    def leave_one_out(self, statistics: Any, x: Array, y: Array, weight: Array) -> Array:
        """The sum of these terms over columns, [N, K], computed without the terms of the other classes."""
        if self.common_sites:  # the row changes every class
            return compute_rows(products.sum_terms, (self, statistics), (x, y, weight), terms="leave_one_out_terms")
        table = compute(conjugate_update, self, statistics).log_predictive(x).finite
        own = sum_own_terms(self, statistics, x, y, weight)
        return either.where(np.arange(table.shape[1])[None, :] == y[:, None], own[:, None], table)


@jax.jit
def conjugate_update(family: LeftOut, statistics: Any) -> Any:
    """``family.update(statistics)``, compiled."""
    return family.update(statistics)


@singledispatch
def sum_own_terms(family: LeftOut, statistics: Any, x: Array, y: Array, weight: Array) -> Array:
    """The sum of ``left_out_terms`` over columns, [N]."""
    return compute_rows(products.sum_terms, (family, statistics), (x, y, weight), terms="left_out_terms")


@singledispatch
def left_out(family: Any, statistics: Any, y: Array, weight: Array) -> Callable[[Array, Array, Array], Array]:
    """``leave_one_out_terms`` of some of the rows with these labels and weights [N], in numpy: a function of them.

    What all rows need is computed here, once.
    """
    del y, weight
    # nothing is compiled, as that would depend on the number of columns, and it takes as long as compiled code
    return lambda *rows: interpret(type(family).leave_one_out_terms, family, statistics, *rows)
