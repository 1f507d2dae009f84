"""Random numbers of JAX's threefry keys in numpy. A key is one unsigned integer of 64 bits.

Salmon et al., Parallel random numbers: as easy as 1, 2, 3 (2011), for Threefry and for numpy's Philox.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from bayesnb.arrays.placement import Array

ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))


def is_key(x: Any) -> bool:
    """True for JAX's typed keys."""
    return isinstance(x, jax.Array) and jnp.issubdtype(x.dtype, jax.dtypes.prng_key)


def to_numpy(x: Any) -> Array:
    """The value in numpy, a key as its integer."""
    if not is_key(x):
        return np.asarray(x, getattr(x, "dtype", None))  # numpy ignores the dtype of JAX's typed Python numbers
    require_threefry(jax.random.key_impl(x))
    words = np.asarray(jax.random.key_data(x))
    return _join(words[..., 0], words[..., 1])


def require_threefry(generator: Any) -> None:
    """Raise NotImplementedError for keys of another generator than JAX's default, which numpy cannot follow."""
    if str(generator) not in ("threefry2x32", "fry"):
        raise NotImplementedError(f"only keys of threefry2x32 have a form in numpy, not of {generator}")


def to_jax(x: Array, kind: Any) -> Any:
    """The value that a primitive of JAX takes for its argument of this kind."""
    if not jnp.issubdtype(kind.dtype, jax.dtypes.prng_key):
        return np.asarray(x)
    return jax.random.wrap_key_data(jax.device_put(np.stack(_halves(np.asarray(x)), -1)), impl="threefry2x32")


def _join(high: Array, low: Array) -> Array:
    return high.astype(np.uint64) << np.uint64(32) | low


def _halves(x: Array) -> tuple[Array, Array]:
    return (x >> np.uint64(32)).astype(np.uint32), x.astype(np.uint32)


def _threefry(key: Array, count: Array) -> Array:
    """The block cipher: 64 random bits of each key and count, which broadcast."""
    keys = [*_halves(np.asarray(key)), None]
    keys[2] = keys[0] ^ keys[1] ^ np.uint32(0x1BD11BDA)
    a, b = (half + word for half, word in zip(_halves(np.asarray(count)), keys, strict=False))
    for i in range(5):
        for distance in ROTATIONS[i % 2]:
            a = a + b
            b = (b << np.uint32(distance) | b >> np.uint32(32 - distance)) ^ a
        a, b = a + keys[(i + 1) % 3], b + keys[(i + 2) % 3] + np.uint32(i + 1)
    return _join(a, b)


def _of_counter(key: Array, shape: tuple[int, ...]) -> Array:
    """64 bits for each key and each place of ``shape``."""
    count = np.arange(int(np.prod(shape)), dtype=np.uint64).reshape(shape)
    return _threefry(np.reshape(key, np.shape(key) + (1,) * len(shape)), count)


def _split(equation: Any) -> Callable[..., Array]:
    return lambda key: _of_counter(key, equation.params["shape"])


def _bits(equation: Any) -> Callable[..., Array]:
    width, shape = equation.params["bit_width"], equation.params["shape"]

    def draw(key: Array) -> Array:
        both = _of_counter(key, shape)
        if width == 64:
            return both
        high, low = _halves(both)
        return (high ^ low).astype(f"uint{width}")

    return draw


def _fold_in(_: Any) -> Callable[..., Array]:
    return lambda key, data: _threefry(key, np.asarray(data).astype(np.uint64))


def _gamma(equation: Any) -> Callable[..., Array]:
    """Gamma(a, 1) variates, or their logarithms, from numpy: every key has a stream of its own."""
    log_space = equation.params["log_space"]

    def draw(key: Array, a: Array) -> Array:
        a, out = np.asarray(a), np.empty(np.shape(a), np.float64)
        for place in np.ndindex(np.shape(key)):
            stream = np.random.Generator(np.random.Philox(key=int(key[place])))
            if log_space:  # Gamma(a) is Gamma(a + 1) U^(1 / a): no variate underflows
                logs = np.log(stream.standard_gamma(a[place] + 1.0))
                out[place] = logs - stream.standard_exponential(np.shape(a[place])) / a[place]
            else:
                out[place] = stream.standard_gamma(a[place])
        return out.astype(a.dtype)

    return draw


def _seed(equation: Any) -> Callable[..., Array]:
    require_threefry(equation.params["impl"].tag)
    words = np.uint64(2**64 - 1 if equation.invars[0].aval.dtype.itemsize == 8 else 2**32 - 1)
    return lambda seed: seed.astype(np.uint64) & words


def _wrap(equation: Any) -> Callable[..., Array]:
    require_threefry(equation.params["impl"].tag)
    return lambda words: _join(words[..., 0], words[..., 1])


def _unwrap(_: Any) -> Callable[..., Array]:
    return lambda key: np.stack(_halves(np.asarray(key)), -1)


RULES: dict[str, Callable[..., Any]] = {
    "random_seed": _seed,
    "random_wrap": _wrap,
    "random_unwrap": _unwrap,
    "random_split": _split,
    "random_bits": _bits,
    "random_fold_in": _fold_in,
    "random_gamma": _gamma,
}
"""The rules by the primitive's name."""
