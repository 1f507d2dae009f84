"""The normal-inverse-Wishart prior of a mean and covariance, read off a user's program."""

from __future__ import annotations

from typing import Any, Self

import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist

from bayesnb.arrays.placement import Array
from bayesnb.families.base import Params
from bayesnb.families.parts.tied import Tied


class InverseWishartPrior(Tied):
    """Its log density is linear in log |Sigma| and the entries of Sigma^-1, Sigma^-1 mu and mu' Sigma^-1 mu."""

    df: Any

    site_supports = (("loc", dist.constraints.real_vector), ("covariance", dist.constraints.positive_definite))

    @classmethod
    def prior_terms(cls, site: str, params: Params) -> tuple[Array, ...]:
        precision = jnp.linalg.inv(params["covariance"])
        rows, columns = np.triu_indices(precision.shape[-1])
        log = jnp.linalg.slogdet(params["covariance"])[1][None]
        matrix = jnp.moveaxis(precision[..., rows, columns] * np.where(rows == columns, 1.0, 2.0), -1, 0)
        if site == "covariance":
            return (*log, *matrix)
        slope = jnp.einsum("...de,...e->...d", precision, params["loc"])
        return (*log, *matrix, *jnp.moveaxis(slope, -1, 0), (slope * params["loc"]).sum(axis=-1))

    @classmethod
    def prior_of(cls, site: str, coefficients: Array) -> tuple[dict[str, Array], Array]:
        size = round((np.sqrt(8.0 * len(coefficients) - 7.0) - 1.0) / 2.0)  # 1 + size (size + 1) / 2 coefficients
        size = size - 1 if site == "loc" else size
        rows, columns = np.triu_indices(size)
        matrix = jnp.zeros((*coefficients.shape[1:], size, size))
        values = -2.0 * jnp.moveaxis(coefficients[1 : 1 + len(rows)], 0, -1)
        matrix = matrix.at[..., rows, columns].set(values).at[..., columns, rows].set(values)
        if site == "covariance":
            df = -2.0 * coefficients[0] - size - 1.0
            return {"df": df, "scale": matrix}, (df > size - 1.0) & (jnp.linalg.eigvalsh(matrix)[..., 0] > 0)
        strength = -2.0 * coefficients[-1]
        loc = jnp.moveaxis(coefficients[1 + len(rows) : -1], 0, -1) / jnp.where(strength > 0, strength, 1.0)[..., None]
        outer = strength[..., None, None] * loc[..., :, None] * loc[..., None, :]
        near = (jnp.abs(matrix - outer) < 1e-6 * (1.0 + jnp.abs(outer))).all(axis=(-2, -1))
        return {"loc": loc, "strength": strength}, near & (strength > 1e-9) & (jnp.abs(coefficients[0] + 0.5) < 1e-6)

    def tilt(self, site: str, powers: tuple[float, ...]) -> Self:
        return self._replace(df=self.df - 2.0 * powers[0]) if site == "covariance" else self
