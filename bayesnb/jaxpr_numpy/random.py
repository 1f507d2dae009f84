"""Random numbers of JAX's threefry keys in numpy: bits are JAX's own, and gamma variates those of a stream by key.

Salmon et al., Parallel random numbers: as easy as 1, 2, 3 (2011), for Threefry and for numpy's Philox.
"""

from __future__ import annotations

from typing import Any

import jax
import numpy as np

from bayesnb.jaxpr_numpy.equation import Array, Function, Rule, bind, halves, join

ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))


def _threefry(key: Array, count: Array) -> Array:
    """The block cipher: 64 random bits of each key and count, which broadcast."""
    keys = [*halves(np.asarray(key)), None]
    keys[2] = keys[0] ^ keys[1] ^ np.uint32(0x1BD11BDA)
    a, b = (half + word for half, word in zip(halves(np.asarray(count)), keys, strict=False))
    for i in range(5):
        for distance in ROTATIONS[i % 2]:
            a = a + b
            b = (b << np.uint32(distance) | b >> np.uint32(32 - distance)) ^ a
        a, b = a + keys[(i + 1) % 3], b + keys[(i + 2) % 3] + np.uint32(i + 1)
    return join(a, b)


def _of_counter(key: Array, shape: tuple[int, ...]) -> Array:
    """64 bits for each key and each place of ``shape``."""
    count = np.arange(int(np.prod(shape)), dtype=np.uint64).reshape(shape)
    return _threefry(np.reshape(key, np.shape(key) + (1,) * len(shape)), count)


def _split(equation: Any) -> Function:
    shape = equation.params["shape"]
    return (lambda key: _of_counter(key, shape)) if jax.threefry_partitionable.value else bind(equation)


def _bits(equation: Any) -> Function:
    shape, long = equation.params["shape"], equation.params["bit_width"] == 64

    def draw(key: Array) -> Array:
        both = _of_counter(key, shape)
        return both if long else np.bitwise_xor(*halves(both))

    return draw if jax.threefry_partitionable.value else bind(equation)


def _fold_in(_: Any) -> Function:
    return lambda key, data: _threefry(key, np.asarray(data).astype(np.uint64))


def _gamma(equation: Any) -> Function:
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


def _seed(equation: Any) -> Function:
    words = np.uint64(2**64 - 1 if equation.invars[0].aval.dtype.itemsize == 8 else 2**32 - 1)
    return lambda seed: seed.astype(np.uint64) & words


def _wrap(_: Any) -> Function:
    return lambda words: join(words[..., 0], words[..., 1])


def _unwrap(_: Any) -> Function:
    return lambda key: np.stack(halves(np.asarray(key)), -1)


RULES: dict[str, Rule] = {
    "random_seed": Rule("iuwk", _seed),
    "random_wrap": Rule("uk", _wrap),
    "random_unwrap": Rule("uk", _unwrap),
    "random_split": Rule("k", _split),
    "random_bits": Rule("uwk", _bits),
    "random_fold_in": Rule("uk", _fold_in),
    "random_gamma": Rule("fdk", _gamma),
}
"""The rules by the primitive's name."""
