"""Factors of stacked matrices are numpy's, have JAX's derivatives, and LAPACK has no batch of them, which may hang."""

import os
import re
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose

import bayesnb as nb
from bayesnb.compute.numerics._one_by_one import eigenvalues, factors, inverses


def matrices(rng, size=3):
    half = rng.normal(size=(2, 3, size, size + 3))
    return half @ half.mT + np.eye(size)


def test_each_is_numpys(rng):
    s = matrices(rng)
    lower = np.linalg.cholesky(s)
    expected = [lower, np.linalg.inv(lower), np.linalg.inv(s), np.linalg.slogdet(s)[1], np.linalg.eigvalsh(s)]
    with jax.enable_x64(True):
        every = jax.jit(lambda s: [*factors(s), *inverses(s), *eigenvalues(s)])
        for one, other in zip(every(s), expected, strict=True):
            assert_allclose(one, other, rtol=1e-10, atol=1e-12)
        bad = factors(np.stack([np.eye(2), -np.eye(2)]))[0]
    assert_allclose(bad, np.stack([np.eye(2), np.tril(np.full((2, 2), np.nan))]))
    assert factors(jnp.zeros((2, 0, 0)))[0].shape == (2, 0, 0)


@pytest.mark.parametrize(
    ("function", "plain"),
    [
        (lambda s: factors(s)[0], jnp.linalg.cholesky),
        (lambda s: factors(s)[1], lambda s: jnp.linalg.inv(jnp.linalg.cholesky(s))),
        (lambda s: inverses(s)[0], jnp.linalg.inv),
        (lambda s: eigenvalues(s)[0], jnp.linalg.eigvalsh),
    ],
)
def test_derivatives_are_those_of_jax(rng, function, plain):
    with jax.enable_x64(True):
        s = jnp.asarray(matrices(rng, 2)[0])
        one, other = (jax.jit(jax.vmap(jax.jacfwd(jax.jacrev(f))))(s) for f in (function, plain))
        assert_allclose(one, other, rtol=1e-8, atol=1e-10)


def batches(function, *args):
    """The operations of LAPACK on more than one matrix in a compiled program."""
    text = jax.jit(jax.vmap(function)).lower(*args).as_text()
    lines = [line for line in text.splitlines() if re.search(r"lapack|stablehlo\.(cholesky|triangular_solve)", line)]
    assert lines
    return [line for line in lines if re.search(r"tensor<(\d+x){3,}f", line)]


@pytest.mark.slow
@pytest.mark.parametrize("covariance", ["full", pytest.param("shared", marks=pytest.mark.slow)])
def test_many_fits_at_once_have_no_batch_of_factors(rng, covariance):
    X, y = jnp.asarray(rng.normal(size=(4, 30, 3))), jnp.asarray(rng.integers(0, 3, (4, 30)))
    model = nb.NaiveBayes(nb.MultivariateNormal(covariance, smoothing=0.1), num_classes=3)

    def answers(X, y):
        post = nb.fit_posterior(model, X, y)
        power = nb.temper(post, X, y, per_feature=True).all_powers
        points = [fit(model, X, y).predict_proba(X) for fit in (nb.fit_mle, nb.fit_map)]
        return post.predict_proba(X), post.log_evidence, power, points, nb.leave_one_out(model, X, y)

    assert not batches(answers, X, y)
    slope = jax.grad(lambda X, y: nb.fit_posterior(model, X, y).predict_log_proba(X)[:, 0].sum())
    assert not batches(slope, X, y)


HANGS = """
import jax, numpy as np, bayesnb as nb
rng = np.random.default_rng(0)
X, y = rng.normal(size=(200, 60, 20)).astype(np.float32), rng.integers(0, 3, (200, 60))
model = nb.NaiveBayes(nb.MultivariateNormal(), num_classes=3)
print(jax.jit(jax.vmap(lambda X, y: nb.fit_posterior(model, X, y).log_evidence))(X, y).shape)
"""


@pytest.mark.slow
def test_many_fits_on_two_threads_end():
    ran = subprocess.run(
        [sys.executable, "-c", HANGS], env=os.environ | {"NPROC": "2"}, capture_output=True, text=True, timeout=120
    )
    assert ran.stdout == "(200,)\n", ran.stderr
