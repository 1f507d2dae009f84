"""The interface of a family: a likelihood for a block of columns together with its conjugate prior.

A family is a frozen dataclass and a pytree. Its fields are the prior's hyperparameters; conjugacy means that
``update(statistics)`` returns the same class with other hyperparameters. Every family has these parts, in this order:

1. hyperparameters, and their ``defaults`` from the data; ``resolve`` broadcasts them to [K, D] or [K, S];
2. ``params``: the NumPyro sub-model of the parameters, one ``sample`` site each, inside class and feature plates;
3. ``likelihood``: the NumPyro distribution of a row. Densities are written nowhere else;
4. ``check`` of the block's cells, and ``statistics``: the sufficient statistics of rows, by class;
5. ``update``: the conjugate update;
6. ``reference``, ``mode`` and ``mle`` of the parameters;
7. ``likelihood_tables`` of the parameters, and ``likelihood_scorer``, which computes the ``log_likelihood`` from
   them, by default by ``likelihood``, for most families as a product of row features and class coefficients
   (``linear``); ``log_likelihood_ratio``: the same from statistics, relative to a reference point, for samplers;
8. ``log_predictive_terms``: the exact predictive of each cell under the current hyperparameters, [N, K, D];
   ``left_out_terms``: the same for each row's own class, with the row's contribution removed from the statistics;
9. ``log_partition``, its change ``log_partition_ratio`` and ``log_base_measure``, which give the evidence.

What one caller needs besides, such as a plot or an explanation, is a ``functools.singledispatch`` function beside that
caller, with a default for every family.

The tests check the laws that every family obeys, such as prior times likelihood equals evidence times posterior.
Arrays are numpy's or JAX's, traced or not; a family does not check which (``Histogram`` and ``Views`` do where rows are
left out, for which they have tables in numpy). What rows and statistics need of numpy's functions is in
``arrays._either``, and ``known`` gives values to check. Missing cells are NaN.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from functools import singledispatch
from typing import Any, ClassVar, Self

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
from numpyro import handlers
from numpyro.distributions.constraints import Constraint
from numpyro.infer.util import log_density

from bayesnb.compute.arrays import _either as either
from bayesnb.compute.arrays._cells import observed
from bayesnb.compute.arrays._compute import compute, compute_rows, interpret
from bayesnb.compute.arrays._placement import Array, allow_promotion
from bayesnb.compute.arrays._placement import Node as Node
from bayesnb.compute.arrays._placement import pytree as pytree
from bayesnb.compute.numerics._log_prob import LogProb
from bayesnb.compute.primitives import products
from bayesnb.compute.primitives.products import Linear
from bayesnb.compute.primitives.products._linear_scores import Score as Score
from bayesnb.compute.primitives.products._linear_scores import Scoring
from bayesnb.compute.primitives.sums import ClassSums, Labels, class_sums
from bayesnb.core.families._hyperparameters import Hyperparameters
from bayesnb.core.families.parts._support import (
    broadcast,
    require_choice,
    require_finite_numbers,
    require_shapes,
    require_support,
)

Params = Mapping[str, Array]
"""Parameters of one block by their short names, such as ``probs``; in the model's program a site is ``block_probs``."""

Hyperparameter = Any  # NumPyro has no types, so a union with its distributions would say no more
"""A number or an array that broadcasts to [K, D]."""


class Family(Hyperparameters, Scoring):
    """A likelihood for a block of columns and its conjugate prior; the module's docstring describes the interface.

    Example:
        >>> import bayesnb as nb
        >>> post = nb.fit_posterior(nb.NaiveBayes(nb.Bernoulli()), [[1], [1], [0], [0]], [0, 0, 0, 1])
        >>> before, after = post.prior.families["x"], post.model.families["x"]  # a posterior has the prior's type
        >>> isinstance(before, nb.Family), type(after) is type(before), before.a.tolist(), after.a.tolist()
        (True, True, [[1.0], [1.0]], [[3.0], [1.0]])
    """

    statistics_type: ClassVar[type]
    """The class of the sufficient statistics."""

    takes_sparse: ClassVar[bool] = False
    """True if rows may be a scipy sparse matrix."""

    one_feature: ClassVar[bool] = False
    """True if the block is one feature: its likelihood is not a product over columns."""

    known: ClassVar[dict[str, Any]] = {}
    """Every family class that has been defined, by name: a saved file may contain any of them."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        before = Family.known.get(cls.__name__, cls).__module__
        if before.startswith("bayesnb.") and before != cls.__module__:
            raise ValueError(
                f"bayesnb has a family named {cls.__name__}, and saved files know families by their names: give "
                "yours another name"
            )
        Family.known[cls.__name__] = cls

    # 1. hyperparameters

    def resolve(self, pooled: Any, num_classes: int) -> Self:
        """The prior with hyperparameters broadcast to their ``axes``, given the statistics of all classes pooled."""
        sizes, defaults = self.axis_sizes(num_classes, pooled.num_columns), self.defaults(pooled)
        resolved = {}
        for name, letters in self.axes:
            value = defaults[name] if getattr(self, name) is None else getattr(self, name)
            resolved[name] = broadcast(value, tuple(sizes[letter] for letter in letters), name)
        return self._replace(**resolved)

    def defaults(self, pooled: Any) -> Params:
        """The values of hyperparameters that are None, from the statistics of all classes pooled; by default none."""
        del pooled
        return {}

    @property
    def declared_columns(self) -> int | None:
        """The number of columns D if the specification fixes it before any data, else None."""
        return None

    def category_sizes(self, num_columns: int) -> tuple[int, ...]:
        """C for each column whose cells are codes 0..C-1, and 0 for the others."""
        return (0,) * num_columns

    # 2., 3. the generative program

    sites: ClassVar[tuple[str, ...]]
    """The short names of the parameters."""

    @property
    def common_sites(self) -> tuple[str, ...]:
        """The parameters that all classes share: they have no class axis."""
        return ()

    @abstractmethod
    def params(self, block: str) -> Params:
        """Sample the parameters, sites ``block_name`` of shape [K, D, ...]."""

    @abstractmethod
    def likelihood(self, params: Params) -> dist.Distribution:
        """The distribution of the cells of rows whose class has these parameters, [..., D]."""

    def observe(self, block: str, params: Params, x: Array | None, total_count: Array | None) -> Array:
        """The sample site of the block's rows; ``params`` are those of each row's class."""
        del total_count  # some families need it
        distribution = self.likelihood(params)
        if x is None:
            return numpyro.sample(block, distribution.to_event(1))
        seen = self.seen(x)
        if seen is not None:
            x, distribution = jnp.where(seen, x, 0), distribution.mask(seen)
        return numpyro.sample(block, distribution.to_event(1), obs=x)

    def check_params(self, params: Params, block: str) -> None:
        """Raise ValueError unless the shapes fit together and known values are valid parameters."""
        require_shapes(block, params, **dict.fromkeys(self.sites, "KD"))
        require_finite_numbers(f"params of block {block!r}", **params)

    # 4. - 6. statistics and estimates

    support: ClassVar[Constraint] = dist.constraints.real
    """The values that a cell may have. They must also be finite, and real numbers must have finite squares."""

    def check(self, x: Array, block: str) -> None:
        """Raise ValueError for values outside the support; of tracers only by ``refuse``, for ``checkify``."""
        require_support(x, self.support, block, type(self).__name__)

    def seen(self, x: Array) -> Array | None:
        """False for missing cells, [N, D]; None if all cells are known to be observed."""
        return observed(x)

    @abstractmethod
    def statistics(self, x: Array, z: ClassSums) -> Any:
        """The sufficient statistics of rows ``x`` [N, D] under the labels ``z``."""

    @abstractmethod
    def update(self, statistics: Any) -> Self:
        """The posterior: the same family with other hyperparameters."""

    @abstractmethod
    def reference(self) -> Params:
        """A central point of the parameters, always interior: means, and rate / shape for a variance."""

    @abstractmethod
    def mode(self) -> Params:
        """The joint mode of the parameters, in the space of the sites."""

    @abstractmethod
    def mle(self, statistics: Any) -> Params:
        """The maximum likelihood estimate; if the data leave it undetermined, that of all classes pooled."""

    # 7. the likelihood

    def likelihood_tables(self, params: Params) -> Any:
        return params

    def likelihood_scorer(self, tables: Any) -> Score:
        return lambda x: compute_rows(_sum_log_probs, (self, tables), x)

    def log_likelihood_terms(self, params: Params, x: Array) -> LogProb:
        """The ``log_likelihood`` feature by feature, [N, K, F]. Pure JAX."""
        if self.one_feature:
            return jax.tree.map(lambda table: table[:, :, None], self.log_likelihood(params, x))
        return _log_probs(self, params, x)

    def log_likelihood_ratio(self, statistics: Any, params: Params, reference: Params) -> Array:
        """log p(rows | params) - log p(rows | reference), a scalar; the reference is the posterior mean.

        By Bayes' theorem the change of posterior over prior density; a form of its own avoids their cancellation.
        """
        posterior = self.update(statistics)
        new, old = (_log_density(posterior, p) - _log_density(self, p) for p in (params, reference))
        return new - old

    def row_base_measure(self, x: Array) -> Array | None:
        """The part of log p(x | params) that does not depend on the parameters, [N]; None if it is 0."""
        del x
        return None

    # 8. the exact predictive

    @abstractmethod
    def log_predictive_terms(self, x: Array) -> Array:
        """log p(x_d | y = k) with the parameters integrated out, [N, K, D]; 0 for a missing cell. Pure JAX."""

    def predictive_tables(self) -> Any:
        """The tables from which ``predictive_scorer`` computes the ``log_predictive`` of rows. Pure JAX."""
        return self

    def predictive_scorer(self, tables: Any) -> Score:
        return lambda x: LogProb(compute_rows(products.sum_terms, (tables,), (x,), terms="log_predictive_terms"), None)

    # rows taken away: the family is the prior, the statistics are those of all rows

    def left_out_terms(self, statistics: Any, x: Array, y: Array, weight: Array) -> Array:
        """log p(x_d | class y_n, all rows but this one), [N, D], from a prior and all rows' statistics. Pure JAX.

        By default the row's own statistics are taken away, row by row; a family knows what they change.
        """
        if self.common_sites:
            terms = self.leave_one_out_terms(statistics, x, y, weight)
            return jnp.take_along_axis(terms, jnp.asarray(y)[:, None, None], axis=1)[:, 0]

        def of_row(row: Array, k: Array, weight: Array) -> Array:
            prior, found = (jax.tree.map(lambda table: table[k][None], of) for of in (self, statistics))
            own = self.statistics(row[None], class_sums(Labels(jnp.zeros(1, int), weight[None]), 1))
            return prior.update(found.minus(own)).log_predictive_terms(row[None])[0, 0]

        return jax.vmap(of_row)(jnp.asarray(x), y, weight)

    def leave_one_out_terms(self, statistics: Any, x: Array, y: Array, weight: Array) -> Array:
        """log p(x_d | y = k, all rows but this one), [N, K, D]. Pure JAX.

        The row changes its own class only, unless the classes share parameters.
        """
        if self.common_sites:

            def of_row(row: tuple[Array, Array, Array]) -> Array:
                x, *labels = (jnp.asarray(part)[None] for part in row)
                own = self.statistics(x, class_sums(Labels(*labels), jax.tree.leaves(statistics)[0].shape[0]))
                return self.update(statistics.minus(own)).log_predictive_terms(x)[0]

            return jax.lax.map(of_row, (jnp.asarray(x), jnp.asarray(y), jnp.asarray(weight)))
        terms = self.update(statistics).log_predictive_terms(x)
        own = jnp.arange(terms.shape[1])[None, :] == y[:, None]
        return jnp.where(own[:, :, None], self.left_out_terms(statistics, x, y, weight)[:, None, :], terms)

    def leave_one_out(self, statistics: Any, x: Array, y: Array, weight: Array) -> Array:
        """The sum of these terms over columns, [N, K], computed without the terms of the other classes."""
        if self.common_sites:  # the row changes every class
            return compute_rows(products.sum_terms, (self, statistics), (x, y, weight), terms="leave_one_out_terms")
        table = compute(conjugate_update, self, statistics).log_predictive(x).finite
        own = compute_rows(products.sum_terms, (self, statistics), (x, y, weight), terms="left_out_terms")
        return either.where(np.arange(table.shape[1])[None, :] == y[:, None], own[:, None], table)

    # 9. the evidence

    @abstractmethod
    def log_partition(self) -> Array:
        """log of the prior's normalising constant, by class and feature, [K, D]."""

    def log_partition_ratio(self, statistics: Any) -> Array:
        """The posterior's log partition minus the prior's; a form without the difference avoids cancellation."""
        return self.update(statistics).log_partition() - self.log_partition()

    def log_base_measure(self, statistics: Any) -> Array:
        """The rest of the log evidence besides the partition ratio, by class and feature: ``log_base``, or else 0."""
        return getattr(statistics, "log_base", jnp.zeros(()))


def _log_probs(family: Family, params: Params, x: Array) -> LogProb:
    """log p(x_d | y = k) by the likelihood's own density, [N, K, D], or [N, K, 1] of rows; 0 for a missing cell."""
    distribution, seen = family.likelihood(params), family.seen(x)
    cells = jnp.asarray(x if seen is None else jnp.where(seen, x, 0))
    logs = jax.vmap(lambda row: distribution.log_prob(row[None]))(cells)
    logs = logs[:, :, None] if logs.ndim == 2 else logs
    if seen is not None:
        logs = jnp.where(seen[:, None] if logs.shape[2] == x.shape[1] else seen.all(axis=1)[:, None, None], logs, 0.0)
    never = jnp.isneginf(logs)
    return LogProb(jnp.where(never, 0.0, logs), never.astype(logs.dtype))


_sum_log_probs = jax.jit(lambda *given: jax.tree.map(lambda terms: terms.sum(axis=2), _log_probs(*given)))


def _log_density(family: Family, params: Params) -> Array:
    """The log density of the prior at these parameters."""
    data = {f"prior_{site}": value for site, value in params.items()}
    with allow_promotion(), handlers.block():
        return log_density(lambda: family.params("prior"), (), {}, data)[0]


conjugate_update = jax.jit(lambda family, statistics: family.update(statistics))


@singledispatch
def left_out(family: Any, statistics: Any, y: Array, weight: Array) -> Callable[[Array, Array, Array], Array]:
    """``leave_one_out_terms`` of some of the rows with these labels and weights [N], in numpy: a function of them.

    What all rows need is computed here, once.
    """
    del y, weight
    # nothing is compiled, as that would depend on the number of columns, and it takes as long as compiled code
    return lambda *rows: interpret(type(family).leave_one_out_terms, family, statistics, *rows)


class LinearFamily(Family):
    """log p(x_d | y = k) = offset_kd + sum_f weights_f[k, d] feature_f(x_d), which ``products.linear`` evaluates."""

    @abstractmethod
    def coefficients(self, params: Params) -> Linear:
        """Class coefficients of row features that give the log likelihood; pure JAX."""

    def features(self, x: Array) -> tuple[Array, ...]:
        """The row features [N, D] that the coefficients multiply."""
        return (x,)

    def likelihood_tables(self, params: Params) -> Any:
        return self.coefficients(params)

    def likelihood_scorer(self, tables: Any) -> Score:
        return products.linear(self, tables)

    def log_likelihood_terms(self, params: Params, x: Array) -> LogProb:
        if self.one_feature:
            return super().log_likelihood_terms(params, x)
        return products.linear_terms(self, self.coefficients(params), jnp.asarray(x))


class Tied(Family):
    """One site may be common to all classes: it then has no class axis, and one row in tables [1, ...].

    The field with the name of that site is one of ``choices``.
    """

    may_be_common: ClassVar[str]
    """The short name of that site, and the name of the field."""

    choices: ClassVar[tuple[str, str]]
    """The values of the field: one parameter for each class, and "shared"."""

    prior: Any
    """The hyperparameters, of which the last one is the scale."""

    def __post_init__(self) -> None:
        super().__post_init__()
        require_choice(type(self).__name__, self.may_be_common, getattr(self, self.may_be_common), self.choices)

    @property
    def shared(self) -> bool:
        """True if the classes share the parameter."""
        return bool(getattr(self, self.may_be_common) == "shared")

    @property
    def common_sites(self) -> tuple[str, ...]:
        return (self.may_be_common,) if self.shared else ()

    def axis_sizes(self, num_classes: int, num_columns: int) -> Mapping[str, int]:
        return {**super().axis_sizes(num_classes, num_columns), "T": 1 if self.shared else num_classes}

    def as_site(self, table: Array) -> Array:
        """A table [K, ...] or [1, ...] in the shape of the site."""
        return table[0] if self.shared else table

    def as_table(self, site: Array) -> Array:
        """The site as a table [K, ...] or [1, ...]."""
        return site[None] if self.shared else site

    def sum_tied(self, table: Array) -> Array:
        """The sum over the classes if they share the parameter, else the table unchanged."""
        return table.sum(axis=0, keepdims=True) if self.shared else table
