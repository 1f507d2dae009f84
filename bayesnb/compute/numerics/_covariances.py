"""Covariance matrices [..., D, D]: their checks, their determinants, and the normalising constant of their prior.

A column without variance carries no information; its row and column hold zeros and are skipped.
"""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jax.scipy.special import gammaln

from bayesnb.compute.arrays import _either as either
from bayesnb.compute.arrays._placement import Array, known
from bayesnb.compute.numerics import _stable as stable
from bayesnb.compute.numerics._one_by_one import eigenvalues, factors, inverses


def proper(matrix: Array, seen: Array) -> Array:
    """The matrix with rows and columns outside ``seen`` [..., D] replaced by those of the identity."""
    matrix = jnp.asarray(matrix)
    return jnp.where(inside(seen), matrix, jnp.eye(matrix.shape[-1], dtype=matrix.dtype))


def inside(seen: Array) -> Array:
    """True for entries whose row and column are both seen, [..., D, D]."""
    return seen[..., :, None] & seen[..., None, :]


def outer(vector: Array) -> Array:
    """v v', [..., D, D]."""
    return vector[..., :, None] * vector[..., None, :]


def variances(matrix: Array) -> Array:
    """The diagonal, [..., D]."""
    return either.diagonal(matrix, axis1=-2, axis2=-1)


def log_determinant(factor: Array) -> Array:
    """log |L L'| from the lower factor."""
    return 2.0 * either.log(variances(factor)).sum(axis=-1)


def log_determinant_excess(count: Array, fitted: Array, old: Array, new: Array, seen: Array) -> Array:
    """n log |S'| + tr(S'^-1 M) minus the same at S, [K], without cancellation when S' is near S and M near n S.

    With E = L^-1 S' L^-T - I, S = L L', it is n sum_i (log(1 + e_i) - e_i / (1 + e_i)) over the eigenvalues of E, plus
    tr((I + E)^-1 E (n I - L^-1 M L^-T)).
    """
    inverse, unit = factors(old)[1], jnp.eye(old.shape[-1], dtype=old.dtype)[None]
    change = inverse @ new @ inverse.mT - unit
    rest = count[:, None, None] * unit * seen[:, None, :] - inverse @ fitted @ inverse.mT
    bent = count * stable.log_ratio_excess(eigenvalues(change)[0]).sum(axis=-1)
    return bent + (inverses(unit + change)[0] @ change * rest).sum(axis=(-1, -2))


def log_partition_wishart(df: Array, scale: Array, seen: Array) -> Array:
    """The log normalising constant of the inverse Wishart over the columns that are seen, [K].

    With d of them: d df/2 log 2 - df/2 log |scale| + d (d - 1)/4 log pi + sum_j log Gamma((df + 1 - j) / 2), j = 1..d;
    df is [K], the scale [K, D, D], seen [K, D].
    """
    size = seen.sum(axis=-1)
    j = jnp.arange(1, seen.shape[-1] + 1)[None]
    argument = 0.5 * (df[..., None] + 1.0 - j)
    used = j <= size[..., None]
    log_gamma = jnp.where(used, gammaln(jnp.where(used, argument, 1.0)), 0.0).sum(axis=-1)
    constant = 0.5 * size * df * jnp.log(2.0) + 0.25 * size * (size - 1) * jnp.log(jnp.pi)
    return constant - 0.5 * df * log_determinant(factors(proper(scale, seen))[0]) + log_gamma


def log_wishart_ratio(df: Array, more: Array, scale: Array, grown: Array, seen: Array) -> Array:
    """The log partition at df + more and scale + grown minus that at df and scale, [K]; arguments as above.

    With W = L^-1 G L^-T, S = L L', it is -df/2 log|I + W| - more/2 log|S + G| + sum_j log of a ratio of Gammas.
    """
    size = seen.sum(axis=-1)
    j = jnp.arange(1, seen.shape[-1] + 1)[None]
    used, argument = j <= size[..., None], 0.5 * (df[..., None] + 1.0 - j)
    gammas = stable.log_gamma_ratio(jnp.where(used, argument, 1.0), 0.5 * jnp.broadcast_to(more[..., None], used.shape))
    factor, inverse = factors(proper(scale, seen))
    after = log_determinant(factors(proper(scale + grown, seen))[0])
    change, growth = after - log_determinant(factor), inverse @ grown @ inverse.mT
    # if the prior outweighs the rows, the difference is lost to rounding: tr W - tr W^2 / 2 + tr W^3 / 3 - ...
    little = jnp.square(growth).sum(axis=(-1, -2)) < 1e-3**2  # of which four terms then have all digits
    small = jnp.where(little[..., None, None], growth, 0.0)
    square = small @ small
    powers = (small * small / 2 - square * small / 3 + square * square / 4).sum(axis=(-1, -2))
    change = jnp.where(little, variances(small).sum(axis=-1) - powers, change)
    rest = 0.5 * more * (size * jnp.log(2.0) - after)
    return rest - 0.5 * df * change + jnp.where(used, gammas, 0.0).sum(axis=-1)


def first_singular(matrices: Array, columns: Array) -> int | None:
    """The index of the first of known matrices [K, D, D] that is singular in columns [D], or None.

    A matrix is singular unless it is positive definite beyond rounding, whatever its units: unless all squared pivots
    of its correlations are above a thousand rounding units.
    """
    matrices = np.asarray(matrices)
    least = 1e3 * np.finfo(matrices.dtype if np.issubdtype(matrices.dtype, np.floating) else float).eps
    for k, matrix in enumerate(matrices.astype(np.float64)):
        part = matrix[np.ix_(columns, columns)]
        spread = np.sqrt(np.maximum(variances(part), 0.0))
        try:
            good = (spread > 0).all() and (variances(np.linalg.cholesky(part / outer(spread))) ** 2 > least).all()
        except np.linalg.LinAlgError:
            good = False
        if not good:
            return k
    return None


def require_covariance(owner: str, value: Array, *, may_be_idle: bool = False) -> None:
    """Raises ValueError unless these are square matrices and, if their values are known, symmetric positive definite.

    Columns that carry no information, with variance 0 in every class, are refused unless they ``may_be_idle``.
    """
    shape = np.shape(value)
    if len(shape) not in (2, 3) or shape[-1] != shape[-2]:
        raise ValueError(f"{owner} must be an array [D, D] or [K, D, D], got shape {shape}")
    matrices = known(value)
    if matrices is None:
        return
    matrices = matrices if len(shape) == 3 else matrices[None]
    if not (np.abs(matrices - matrices.transpose(0, 2, 1)) <= 1e-4 * np.abs(matrices).max(initial=0)).all():
        raise ValueError(f"{owner} must be symmetric: use (S + S.T) / 2")
    columns = (variances(matrices) != 0).any(axis=0) | (not may_be_idle)
    if first_singular(matrices, columns) is not None:
        raise ValueError(f"{owner} must be positive definite: add a small number to its diagonal")


def whiten(inverse: Array, vector: Array) -> Array:
    """L^-1 v for vectors [..., D] and inverse factors [..., D, D] or one for all."""
    return (inverse @ vector[..., None])[..., 0]


def divergence(loc: Array, covariance: Array, k: int) -> Array:
    """E[log N(x; m_k, S_k) - log N(x; m_j, S_j)] for x ~ N(m_k, S_k), over the columns that vary, [K].

    (tr S_j^-1 S_k + (m_j - m_k)' S_j^-1 (m_j - m_k) - D + log det S_j / det S_k) / 2
    """
    covariance = jnp.broadcast_to(covariance, (len(loc), *covariance.shape[-2:]))
    on = variances(covariance).min(axis=0) > 0
    covariance, shift = proper(covariance, on), jnp.where(on[None], loc - loc[k][None], 0.0)
    factor, inverse = factors(covariance)
    white = jnp.append(inverse @ factor[k][None], whiten(inverse, shift)[..., None], axis=-1)
    logs = log_determinant(factor)
    return 0.5 * (jnp.square(white).sum(axis=(1, 2)) - loc.shape[-1] + logs - logs[k])
