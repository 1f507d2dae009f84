"""The Normal's exact predictive: Student's t, cell by cell and summed over columns."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp

from bayesnb import products, special
from bayesnb.arrays import Array, observed, on_host


class Student(NamedTuple):
    """log p(x_d | k) = offset - power log(1 + z^2) with z = (x - centre - loc) precision; arrays [K, D], centre [1, D].

    ``condition`` is the largest distance from the centre in units of the predictive's width.
    """

    loc: Array
    precision: Array
    power: Array
    offset: Array
    centre: Array
    condition: Array | None


def student(loc: Array, strength: Array, shape: Array, rate: Array, off: Array) -> Student:
    """The predictive of a normal-inverse-gamma, 2 shape degrees of freedom; a column that is off has factor 1."""
    loc, strength, shape, rate, off = jnp.broadcast_arrays(loc, strength, shape, rate, off)
    width, offset = _width_and_offset(strength, shape, jnp.where(off, 1.0, rate))
    centre = products.centre_of(loc)
    loc, precision = loc - centre, jnp.where(off, 0.0, 1.0 / jnp.sqrt(width))
    power, offset = (jnp.where(off, 0.0, table) for table in (shape + 0.5, offset))
    condition = jnp.max(jnp.abs(loc) * precision * jnp.sqrt(2.0 * power), initial=0.0)
    return Student(loc, precision, power, offset, centre, condition)


TOGETHER = 16
"""Factors 1 + z^2 that are multiplied before their logarithm is taken."""


def log_student(table: Student, x: Array) -> Array:
    """The log predictive of rows, [N, K]."""
    if not on_host(table, x):
        return _careful(table, jnp.asarray(x))
    # columns that were seen as often as each other have one power, and so one logarithm
    alike = ((table.power == table.power.max(axis=1, keepdims=True, initial=0.0)) | (table.precision == 0)).all()
    quick = partial(_quick, TOGETHER if alike else 1, observed(x) is None)
    single = products.single_precision(table.condition)
    return products.tabled(quick, _careful, table._replace(condition=None), x, single=single)


@partial(jax.jit, static_argnums=(0, 1))
def _quick(together: int, complete: bool, table: Student, x: Array) -> Array:
    """Columns by columns, so that the working set is [K, N]; factors in double precision, as they are near 1."""
    double = jnp.result_type(float)
    offset, power = table.offset.astype(double), table.power.astype(double)
    seen = jnp.ones((1, x.shape[1])) if complete else ~jnp.isnan(x)
    x, seen = jnp.where(seen, x - table.centre, 0), seen.astype(x.dtype)

    def add(total: Array, columns: tuple[Array, ...]) -> tuple[Array, None]:
        factor = jnp.ones((table.loc.shape[0], x.shape[0]), double)
        for cell, there, loc, precision in zip(*columns[1:], strict=True):
            z = (cell[None] - loc[:, None]) * precision[:, None]
            z = (z if complete else z * there[None]).astype(double)
            factor *= 1.0 + z * z
        return total - columns[0][:, None] * jnp.log(factor), None

    groups = [_in_groups(part, together) for part in (x, seen, table.loc, table.precision)]
    start = jnp.matmul(offset, seen.T.astype(double), precision="highest") + jnp.zeros((1, x.shape[0]))
    return jax.lax.scan(add, start, (_in_groups(power, together).max(axis=1), *groups))[0].T


def _in_groups(table: Array, size: int) -> Array:
    """Columns of [..., D] in groups, [D / size, size, ...]; the last is filled with zeros, which add nothing."""
    columns = jnp.pad(table, ((0, 0), (0, -table.shape[1] % size))).T
    return columns.reshape(-1, size, table.shape[0])


@jax.jit
def _careful(table: Student, x: Array) -> Array:
    x = jnp.asarray(x, jnp.result_type(float))
    missing = jnp.isnan(x)[:, None, :]
    z = ((x - table.centre)[:, None, :] - table.loc[None]) * table.precision[None]
    terms = table.offset[None] - table.power[None] * special.log1p_square(jnp.where(missing, 0.0, z))
    return jnp.where(missing, 0.0, terms).sum(axis=-1)


def log_student_cells(gap: Array, strength: Array, shape: Array, rate: Array, off: Array) -> Array:
    """log density of x - loc under the predictive, cell by cell; 0 for NaN and where the column is off."""
    width, offset = _width_and_offset(strength, shape, rate)
    missing = jnp.isnan(gap)
    z = jnp.where(missing, 0.0, gap) / jnp.sqrt(width)
    return jnp.where(missing | off, 0.0, offset - (shape + 0.5) * special.log1p_square(z))


def _width_and_offset(strength: Array, shape: Array, rate: Array) -> tuple[Array, Array]:
    """The square of z's unit, and the density's constant."""
    width = 2.0 * rate * (strength + 1.0) / strength
    return width, special.log_gamma_ratio(shape, 0.5) - 0.5 * jnp.log(jnp.pi * width)
