"""Every obstacle of a program is listed at once, with what was recognised; sentences that say what to write instead."""

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pandas as pd
import pytest
from numpyro import handlers

from tests.recognition.agreement import refusal
from tests.recognition.case import FLAGS, PI, REALS, D, K, N, Y
from tests.recognition.programs.parts import rows, table

BETA, UNIT = dist.Beta(2.0, 2.5), dist.Normal(0.0, 1.0)
FIT_EM = "leave rows without a label out, and give them to fit_em with label -1"


def label(y):
    pi = numpyro.sample("pi", dist.Dirichlet(PI))
    return numpyro.sample("y", dist.Categorical(pi).expand([N]), obs=y)


def many(X, flags, y):
    theta, mu, far = table("theta", BETA), table("mu", UNIT), table("far", UNIT)
    numpyro.factor("penalty", -jnp.square(far).sum())
    slope = numpyro.sample("slope", UNIT)
    y = label(y)
    numpyro.sample("good", dist.Bernoulli(theta[y]), obs=flags)
    numpyro.sample("heavy", dist.Uniform(far[y] - 9.0, far[y] + 9.0), obs=X)
    numpyro.sample("trend", dist.Normal(mu[y] + slope * np.linspace(0.0, 1.0, N)[:, None], 1.0), obs=X)
    numpyro.sample("double", dist.Uniform(far[y] - 8.0, 9.0), obs=X)


def test_all_obstacles_are_listed_with_what_was_recognised():
    error = refusal(many, REALS, FLAGS, Y)
    found = [next(name for name in ("penalty", "heavy", "double", "trend") if name in text) for text in error.obstacles]
    assert found == ["penalty", "heavy", "double", "trend"]
    assert str(error).splitlines() == [*error.obstacles, "recognised: site 'good', Bernoulli"]


def test_one_obstacle_is_one_line():
    def program(X, y):
        mu = table("mu", UNIT)
        rows(X, y, lambda y: dist.Laplace(mu[y], 1.0))

    error = refusal(program, REALS, Y)
    assert error.obstacles == (str(error),)
    assert "\n" not in str(error)


def test_a_latent_that_only_a_refused_site_reads_is_no_obstacle():
    def program(X, flags, y):
        theta, far = table("theta", BETA), table("far", UNIT)
        y = label(y)
        numpyro.sample("good", dist.Bernoulli(theta[y]), obs=flags)
        numpyro.sample("heavy", dist.Uniform(far[y] - 9.0, far[y] + 9.0), obs=X)

    assert len(refusal(program, REALS, FLAGS, Y).obstacles) == 1


# labels that the program has from elsewhere


def with_a_global(X):
    theta = table("theta", BETA)
    label(Y)
    numpyro.sample("x", dist.Bernoulli(theta[Y]), obs=X)


def with_a_frame(frame):
    theta, y = table("theta", BETA), frame["y"].values
    label(y)
    numpyro.sample("x", dist.Bernoulli(theta[y]), obs=frame[list("abc")].values)


def with_codes_of_strings(X, names):
    theta, y = table("theta", BETA), np.unique(names, return_inverse=True)[1]
    label(y)
    numpyro.sample("x", dist.Bernoulli(theta[y]), obs=X)


FRAME = pd.DataFrame(FLAGS, columns=list("abc")).assign(y=Y)


@pytest.mark.parametrize(
    ("program", "args"),
    [
        pytest.param(with_a_global, (FLAGS,), marks=pytest.mark.slow),
        (with_a_frame, (FRAME,)),
        pytest.param(with_codes_of_strings, (FLAGS, np.array(list("no"))[Y]), marks=pytest.mark.slow),
    ],
    ids=["a global", "a frame", "strings"],
)
def test_labels_from_elsewhere(program, args):
    assert "whatever labels the program gets: it reads them elsewhere, such as from a global" in str(
        refusal(program, *args)
    )


# loops over classes, rows without labels, labels summed out


def a_loop(X, y):
    theta = table("theta", BETA)
    label(y)
    for k in range(K):
        numpyro.sample(f"x{k}", dist.Bernoulli(theta[k]), obs=X[np.asarray(y) == k])


def a_loop_with_masks(X, y):
    theta = table("theta", BETA)
    y = label(y)
    for k in range(K):
        with handlers.mask(mask=(y == k)[:, None]):
            numpyro.sample(f"x{k}", dist.Bernoulli(theta[k]).expand([N, D]), obs=X)


def rows_without_labels(X, y):
    theta = table("theta", BETA)
    y = label(y)
    numpyro.sample("x", dist.Bernoulli(theta[y]), obs=X)
    with numpyro.plate("unlabelled", 5):
        z = numpyro.sample("z", dist.Categorical(jnp.ones(K) / K), infer={"enumerate": "parallel"})
        numpyro.sample("others", dist.Bernoulli(theta[z]).to_event(1), obs=X[:5])


def summed_out(X, y):
    theta = table("theta", BETA)
    y = label(y)
    numpyro.sample("x", dist.Bernoulli(theta[y]), obs=X)
    mixture = dist.MixtureSameFamily(dist.Categorical(jnp.ones(K) / K), dist.Bernoulli(theta).to_event(1))
    numpyro.sample("others", mixture.expand([5]), obs=X[:5])


def summed_out_by_hand(X, y):
    theta = table("theta", BETA)
    y = label(y)
    numpyro.sample("x", dist.Bernoulli(theta[y]), obs=X)
    joint = dist.Bernoulli(theta).log_prob(X[:5, None]).sum(axis=-1)
    numpyro.factor("others", jax.scipy.special.logsumexp(joint, axis=-1).sum())


@pytest.mark.parametrize(
    ("program", "obstacles"),
    [
        (a_loop_with_masks, 2),
        *(
            pytest.param(*case, marks=pytest.mark.slow)
            for case in [(a_loop, 2), (rows_without_labels, 2), (summed_out, 1), (summed_out_by_hand, 1)]
        ),
    ],
)
def test_the_advice_is_one_site_and_fit_em(program, obstacles):
    error = refusal(program, FLAGS, Y)
    assert len(error.obstacles) == obstacles
    assert all(FIT_EM in text for text in error.obstacles)
    assert "let one site have all rows, and index its parameters by the label, theta[y]" in str(error)


def test_no_label_at_all():
    def program(X):
        theta = table("theta", BETA)
        numpyro.sample("x", dist.Bernoulli(theta[Y]), obs=X)

    assert "neither a sample site nor an argument" in str(refusal(program, FLAGS))
    assert "index its parameters by the label" in str(refusal(program, FLAGS))
