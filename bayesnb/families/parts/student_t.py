"""Log densities of real cells: Normal, and the exact predictive, Student's t (``primitives.products.student``)."""

from __future__ import annotations

import jax.numpy as jnp

from bayesnb.arrays.placement import Array
from bayesnb.families.priors.normal_inverse_gamma import NormalInverseGamma
from bayesnb.numerics import log_gamma, stable
from bayesnb.primitives import products
from bayesnb.primitives.distances import LOG_2PI
from bayesnb.primitives.products.student import Student


def log_normal_cells(x: Array, loc: Array, variance: Array) -> Array:
    """The log density, cell by cell; 0 for NaN and for columns without a scale."""
    off, missing = variance == 0, jnp.isnan(x)
    variance = jnp.where(off, 1.0, variance)
    z = stable.squarable((jnp.where(missing, 0.0, x) - loc) / jnp.sqrt(variance))
    return jnp.where(missing | off, 0.0, -0.5 * (z * z + jnp.log(variance) + LOG_2PI))


def student(prior: NormalInverseGamma) -> Student:
    """The predictive, with 2 shape degrees of freedom; columns without a scale have factor 1."""
    prior = NormalInverseGamma(*jnp.broadcast_arrays(*prior))
    precision, offset = precision_and_offset(prior)
    loc, shape, off = prior.loc, prior.shape, prior.scaleless
    centre = products.centre_of(loc)
    loc, precision = loc - centre, jnp.where(off, 0.0, precision)
    power, offset = (jnp.where(off, 0.0, table) for table in (shape + 0.5, offset))
    condition = jnp.max(jnp.abs(loc) * precision * jnp.sqrt(2.0 * power), initial=0.0)
    return Student(loc, precision, power, offset, centre, condition)


def raise_student(table: Student, powers: Array) -> Student:
    """The log densities of columns times powers, [D] or [1]."""
    return table._replace(power=powers[None] * table.power, offset=powers[None] * table.offset)


def log_student_cells(prior: NormalInverseGamma, x: Array) -> Array:
    """The log predictive, cell by cell; 0 for NaN and for columns without a scale."""
    precision, offset = precision_and_offset(prior)
    missing = jnp.isnan(x)
    z = jnp.where(missing, 0.0, x - prior.loc) * precision
    return jnp.where(missing | prior.scaleless, 0.0, offset - (prior.shape + 0.5) * stable.log1p_square(z))


def precision_and_offset(prior: NormalInverseGamma) -> tuple[Array, Array]:
    """The precision, 1 / sqrt(2 rate (strength + 1) / strength), and the constant of the log density."""
    inflation = 1.0 / prior.strength
    precision = jnp.sqrt(0.5 / prior.proper_rate) / jnp.sqrt(1.0 + inflation)
    log_width = jnp.log(2.0 * jnp.pi * prior.proper_rate) + jnp.log1p(inflation)
    return precision, log_gamma.log_gamma_ratio(prior.shape, 0.5) - 0.5 * log_width
