"""The Normal's exact predictive: Student's t, cell by cell and summed over columns."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp

from bayesnb import products, special
from bayesnb.arrays import Array, on_host


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


def log_student(table: Student, x: Array) -> Array:
    """The log predictive of rows, [N, K]."""
    single = on_host(table) and products.single_precision(table.condition)
    return products.tabled(_quick, _careful, table._replace(condition=None), x, single=single)


@jax.jit
def _quick(table: Student, x: Array) -> Array:
    terms = _terms(table, x, lambda z: jnp.log1p(jnp.square(z)))
    # the rounding of float32 terms adds up, that of their sum need not
    return terms.sum(axis=-1, dtype=jnp.result_type(float))


@jax.jit
def _careful(table: Student, x: Array) -> Array:
    return _terms(table, jnp.asarray(x, jnp.result_type(float)), special.log1p_square).sum(axis=-1)


def _terms(table: Student, x: Array, log1p_square: Callable[[Array], Array]) -> Array:
    missing = jnp.isnan(x)[:, None, :]
    z = ((x - table.centre)[:, None, :] - table.loc[None]) * table.precision[None]
    terms = table.offset[None] - table.power[None] * log1p_square(jnp.where(missing, 0.0, z))
    return jnp.where(missing, 0.0, terms)


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
