"""What a feature adds to the prediction of another: log p(x_j | x_i, k, D) / p(x_j | k, D) for all pairs and rows.

0 where either cell is missing: so a missing parent is not summed out, but left out. Each is the family's own predictive
under the label (k, c), less that under k.
"""

from __future__ import annotations

from functools import partial, singledispatch
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from bayesnb.arrays.cells import unless_all
from bayesnb.arrays.host_calls import eagerly
from bayesnb.arrays.placement import Array, namespace
from bayesnb.families import Normal
from bayesnb.families.parts.student_t import precision_and_offset
from bayesnb.forests import bivariate_normal
from bayesnb.forests.bivariate_normal import Conditional
from bayesnb.forests.edges import Parts, assemble, take_labels
from bayesnb.numerics import stable
from bayesnb.primitives.pairs import look_up_pairs


class Rows(NamedTuple):
    """``places`` [N, I] of categories, S where missing; the cells of the other blocks; real cells [N, J], NaN where
    missing.
    """

    places: Array
    blocks: tuple[Array, ...]
    reals: Array


class PairTables(NamedTuple):
    """``counted`` [K, S + 1, S + 1], the log ratio for each two categories, 0 for missing ones; for the other blocks
    what predicts under each label, K (S + 1) classes; and the density of real cells ``given`` a real cell, [K, J, J].
    """

    counted: Array
    labelled: tuple[Any, ...]
    given: Conditional

    @property
    def num_labels(self) -> int:
        """S + 1."""
        return self.counted.shape[1]


def pair_tables(parts: Parts, sizes: tuple[int, ...]) -> PairTables:
    """The tables of the posterior. Pure JAX."""
    posteriors = [child.given.update(child.of_given) for child in parts.children]
    num_classes, size = parts.prior.loc.shape[0], sum(sizes)
    counted = jnp.zeros((num_classes, size + 1, size + 1))
    if sizes:
        logs = posteriors.pop(0).predictive_tables().finite.reshape(num_classes, size + 1, size)
        counted = jnp.pad(logs - logs[:, -1:], [(0, 0), (0, 0), (0, 1)])
    pair = bivariate_normal.posterior(parts.prior, parts.moments)
    return PairTables(counted, tuple(map(tabulate, posteriors)), bivariate_normal.conditional(pair))


@singledispatch
def tabulate(posterior: Any) -> Any:
    """What ``log_terms`` needs of a family: by default the family itself. Pure JAX."""
    return posterior


@singledispatch
def log_terms(tables: Any, x: Array) -> Array:
    """log p(x_d | label), [N, L, F]. Pure JAX."""
    return tables.log_predictive_terms(x)


class StudentCells(NamedTuple):
    """log p(x) = offset - power log(1 + z^2), z = (x - loc) precision: the log-gammas of a Normal's predictive are
    computed once, not for each row. A row then takes a tenth of the time.
    """

    loc: Array
    precision: Array
    power: Array
    offset: Array


@tabulate.register(Normal)
def _(posterior: Any) -> Any:
    if posterior.one_feature:  # columns that share their parameters
        return posterior
    prior = posterior.prior
    precision, offset = precision_and_offset(prior)
    tables = (precision, prior.shape + 0.5, offset)
    return StudentCells(prior.loc, *(jnp.where(prior.scaleless, 0.0, table) for table in tables))


@log_terms.register(StudentCells)
def _(tables: Any, x: Array) -> Array:
    z = (jnp.where(jnp.isnan(x), 0.0, x)[:, None] - tables.loc[None]) * tables.precision[None]
    return jnp.where(jnp.isnan(x)[:, None], 0.0, tables.offset[None] - tables.power[None] * stable.log1p_square(z))


def log_ratios(tables: PairTables, rows: Rows) -> Array:
    """The log ratios of rows in every class, [N, K, F, F], parents before children."""
    counted = look_up_pairs(tables.counted, rows.places)
    if not tables.labelled:
        return counted
    seen = unless_all(~namespace(rows.reals).isnan(rows.reals))
    return eagerly(_assemble, tables._replace(counted=tables.counted[:, :, 0]), counted, rows, seen)


@jax.jit
def _assemble(tables: PairTables, counted: Array, rows: Rows, seen: Array | None) -> Array:
    num_classes, (num_rows, num_columns) = counted.shape[1], rows.places.shape
    last = jnp.full((num_rows, 1), tables.num_labels - 1, rows.places.dtype)
    own = jnp.concatenate([rows.places, last], axis=1)[:, None]
    own = (own + tables.num_labels * np.arange(num_classes)[None, :, None]).reshape(num_rows, -1)

    def of_row(tables: Any, x: Array, labels: Array) -> Array:
        return log_terms(take_labels(tables, labels), x[None])[0]

    def of_block(tables: Any, x: Array) -> Array:
        terms = jax.vmap(partial(of_row, tables))(x, own)
        return terms.reshape(num_rows, num_classes, num_columns + 1, terms.shape[2])

    terms = [of_block(*pair) for pair in zip(tables.labelled, rows.blocks, strict=True)]
    alone = jnp.concatenate([part[:, :, -1] for part in terms], axis=2)[:, :, None, : rows.reals.shape[1]]
    x = (rows.reals if seen is None else jnp.where(seen, rows.reals, 0.0))[:, None, None, :]
    given = jax.tree.map(lambda table: table[None], tables.given)
    real = bivariate_normal.log_conditional(given, x.swapaxes(2, 3), x) - alone
    if seen is not None:
        real = jnp.where(seen[:, None, :, None] & seen[:, None, None, :], real, 0.0)
    return assemble([counted] * bool(num_columns) + [part[:, :, :-1] - part[:, :, -1:] for part in terms], real, 0.0)
