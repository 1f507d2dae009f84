"""The rows that a program observes: ``model.rows``, and the refusal of any others where they are no argument."""

import pickle
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from numpyro.infer.util import log_density

import bayesnb as nb
from tests import cases
from tests.recognition.case import COUNTS, FLAGS, PI, REALS, D, K, N, Y
from tests.recognition.programs.parts import rows, table

POSITIVE = np.exp(REALS / 2)
NEW = np.exp(np.random.default_rng(2).normal(size=(5, D)))
REFUSED = "X must be the rows that the model's program observes, from model.rows"


def observing(change, mask=None):
    """A program that observes ``change(X)`` where ``mask(X)`` is true."""

    def program(X, y):
        mu = table("mu", dist.Normal(0.0, 3.0))
        X = jnp.asarray(X)

        def law(y):
            cells = dist.Normal(mu[y], 1.0)
            return cells if mask is None else cells.mask(mask(X))

        rows(change(X), y, law)

    return program


def standardise(X):
    return (X - X.mean(axis=0)) / X.std(axis=0)


CHANGES = {
    "logs": (jnp.log, None, np.log),
    "other order of columns": (lambda X: X[:, ::-1], None, lambda X: X[:, ::-1]),
    "masked": (lambda X: X, lambda X: X < 3.0, lambda X: np.where(X < 3.0, X, np.nan)),
    "masked logs": (jnp.log, lambda X: X < 3.0, lambda X: np.where(X < 3.0, np.log(X), np.nan)),
    "clipped where no example is": (lambda X: jnp.clip(X, 1e-9, 1e9), None, lambda X: X),
    "zeros for missing": (jnp.nan_to_num, None, lambda X: X),
    "absolute values of positive numbers": (jnp.abs, None, lambda X: X),
    "a flag for each number": (lambda X: (X > 1.0).astype(float), None, lambda X: (X > 1.0).astype(float)),
}
TOGETHER = {
    "standardised": (standardise, standardise),
    "divided by the largest": (lambda X: X / X.max(), lambda X: X / X.max()),
    "less the first row": (lambda X: X - X[0], lambda X: X - X[0]),
    "rows the other way round": (lambda X: X[::-1], lambda X: X[::-1]),
}
SAME = {
    "the argument": (lambda X: X, None),
    "in single precision": (lambda X: X.astype(jnp.float32), None),
    "missing cells filled and masked": (jnp.nan_to_num, lambda X: ~jnp.isnan(X)),
}


@pytest.mark.parametrize("name", cases.by_default(CHANGES, "logs", "masked logs"))
def test_rows_are_what_the_program_observes(name):
    change, mask, expected = CHANGES[name]
    model = nb.from_numpyro(observing(change, mask), (POSITIVE, Y), label="y")
    assert "rows: not an argument as it is: fits and predictions take what model.rows returns\n" in repr(
        model.certificate
    )
    for X in (POSITIVE, NEW):
        given = [model.rows(X, np.zeros(len(X), int)), model.rows(X), model.rows(X, y=None)]
        for found in given:
            assert_allclose(found.cells["x"], expected(X), rtol=1e-12)
            assert isinstance(found.cells["x"], np.ndarray)
    plain = nb.NaiveBayes(nb.NormalKnownVariance(1.0, 0.0, 3.0), class_concentration=PI)
    fit, by_hand = nb.fit_posterior(model, model.rows(POSITIVE, Y), Y), nb.fit_posterior(plain, expected(POSITIVE), Y)
    assert_allclose(fit.log_evidence, by_hand.log_evidence, rtol=1e-9)
    assert_allclose(fit.predict_proba(model.rows(NEW)), by_hand.predict_proba(expected(NEW)), rtol=1e-9)
    for call in (lambda: nb.fit_posterior(model, POSITIVE, Y), lambda: fit.predict_proba(expected(NEW))):
        with pytest.raises(ValueError, match=REFUSED):
            call()


@pytest.mark.slow
def test_the_evidence_is_prior_times_likelihood_over_posterior_of_the_program():
    """log p(D) = log p(D, theta) - log p(theta | D) at any theta, where the joint density is the program's own."""
    program = observing(jnp.log, lambda X: X < 3.0)
    model = nb.from_numpyro(program, (POSITIVE, Y), label="y")
    fit = nb.fit_posterior(model, model.rows(POSITIVE, Y), Y)
    with jax.enable_x64(True):
        theta = {"pi": jnp.array([0.4, 0.6]), "mu": jnp.linspace(-1.0, 1.0, K * D).reshape(K, D)}
        joint = jax.jit(lambda theta: log_density(program, (POSITIVE, Y), {}, theta)[0])(theta)
        seen = np.where(POSITIVE < 3.0, np.log(POSITIVE), np.nan)
        mean, precision = np.zeros((K, D)), np.zeros((K, D))
        for k in range(K):
            precision[k] = 3.0**-2 + (~np.isnan(seen[k == Y])).sum(axis=0)
            mean[k] = np.nansum(seen[k == Y], axis=0) / precision[k]
        of_mu = dist.Normal(mean, precision**-0.5).log_prob(theta["mu"]).sum()
        of_pi = dist.Dirichlet(PI + np.bincount(Y)).log_prob(theta["pi"])
        assert_allclose(fit.log_evidence, joint - of_mu - of_pi, rtol=1e-9)


@pytest.mark.parametrize("name", cases.by_default(TOGETHER, "standardised", "less the first row"))
def test_rows_that_depend_on_all_rows_are_said_to_be_so(name):
    change, expected = TOGETHER[name]
    model = nb.from_numpyro(observing(change), (POSITIVE, Y), label="y")
    assert "each depends on the other rows that are given with it" in repr(model.certificate)
    with pytest.warns(UserWarning, match="each row that 'program' observes depends on the others given with it"):
        found = model.rows(NEW)
    assert_allclose(found.cells["x"], expected(NEW), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", cases.by_default(SAME, "missing cells filled and masked"))
def test_an_argument_as_it_is_is_taken_as_it_is(name):
    change, mask = SAME[name]
    model = nb.from_numpyro(observing(change, mask), (POSITIVE, Y), label="y")
    assert "rows: an argument as it is" in repr(model.certificate)
    fit = nb.fit_posterior(model, POSITIVE, Y)
    assert_allclose(fit.predict_proba(NEW.astype(np.float32)), fit.predict_proba(model.rows(NEW)), rtol=1e-5)


@pytest.mark.slow
def test_a_mask_that_is_an_argument_and_totals():
    def program(X, y, totals, seen):
        theta = table("theta", dist.Beta(2.0, 2.0))
        rows(X, y, lambda y: dist.Binomial(totals[:, None], theta[y]).mask(seen))

    totals, seen = np.arange(N) + 20, np.random.default_rng(1).random((N, D)) < 0.8
    model = nb.from_numpyro(program, (COUNTS, Y, totals, seen), label="y")
    successes, trials = model.rows(COUNTS, Y, totals, seen).cells["x"]
    assert_array_equal(successes, np.where(seen, COUNTS, np.nan))
    assert_array_equal(trials, np.broadcast_to(totals[:, None], (N, D)))
    fit = nb.fit_posterior(model, model.rows(COUNTS, Y, totals, seen), Y)
    assert fit.predict_proba(model.rows(COUNTS[:2], None, totals[:2], seen[:2])).shape == (2, K)
    with pytest.raises(ValueError, match=REFUSED):
        nb.fit_posterior(model, (COUNTS, trials), Y)


def two_sites(first, second):
    def program(X, y):
        theta, mu = table("theta", dist.Beta(2.0, 2.0)), table("mu", dist.Normal(0.0, 3.0))
        rows_of = {"a": (theta, dist.Bernoulli, first(X)), "b": (mu, lambda m: dist.Normal(m, 1.0), second(X))}
        pi = numpyro.sample("pi", dist.Dirichlet(PI))
        with numpyro.plate("rows", len(X)):
            y = numpyro.sample("y", dist.Categorical(pi), obs=y)
            for site, (values, law, cells) in rows_of.items():
                numpyro.sample(site, law(values[y]).to_event(1), obs=cells)

    return program


WIDE = np.hstack([FLAGS, REALS])


@pytest.fixture(scope="module")
def columns():
    """A model of the columns of one argument, in their order."""
    with jax.numpy_rank_promotion("allow"):
        return nb.from_numpyro(two_sites(lambda X: X[:, :D], lambda X: X[:, D:]), (WIDE, Y), label="y")


@pytest.mark.slow
def test_columns_of_one_argument_in_their_order_may_be_given_by_site(columns):
    by_site = {"a": FLAGS, "b": REALS}
    found = columns.rows(WIDE, Y)
    for site, cells in by_site.items():
        assert_array_equal(found.cells[site], cells)
    fits = [nb.fit_posterior(columns, X, Y).log_evidence for X in (by_site, found)]
    assert fits[0] == fits[1]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("first", "second"),
    [
        (lambda X: X[:, D:], lambda X: X[:, :D]),
        (lambda X: X[:, :D], lambda X: 2.0 * X[:, D:]),
    ],
    ids=["another order", "one of them changed"],
)
def test_blocks_of_which_one_is_changed_are_taken_together(first, second):
    X = np.hstack([REALS, FLAGS]) if (first(WIDE) != FLAGS).any() else WIDE
    model = nb.from_numpyro(two_sites(first, second), (X, Y), label="y")
    found = model.rows(X, Y)
    assert_allclose(found.cells["b"], second(X))
    assert nb.fit_posterior(model, found, Y).predict_proba(found[:3]).shape == (3, K)
    with pytest.raises(ValueError, match=REFUSED):
        nb.fit_posterior(model, {"a": FLAGS, "b": REALS}, Y)


def log_program(X, y):
    observing(jnp.log)(X, y)


@pytest.fixture(scope="module")
def logs():
    with jax.numpy_rank_promotion("allow"):
        return nb.from_numpyro(log_program, (POSITIVE, Y), label="y")


def test_rows_are_a_pytree_with_their_mark(logs):
    found = logs.rows(POSITIVE, Y)
    fit = nb.fit_posterior(logs, found, Y)
    some = np.arange(N) % 2 == 0
    for other in (jax.tree.map(lambda x: x, found), jax.jit(lambda r: r)(found), jax.device_put(found)):
        assert_allclose(fit.predict_proba(other), fit.predict_proba(found), rtol=1e-5)
    assert_allclose(fit.predict_proba(found[some]), fit.predict_proba(found)[some], rtol=1e-12)
    assert_allclose(fit.predict_proba(found[:2]), fit.predict_proba(logs.rows(POSITIVE[:2])), rtol=1e-12)
    assert repr(found) == "ObservedRows(cells={'x': array[12, 3]}, program='log_program')"


@pytest.mark.slow
def test_rows_of_jax_arrays_and_in_jit(logs):
    X, y = jnp.asarray(POSITIVE, jnp.float32), jnp.asarray(Y)

    def predict(X, y):
        return nb.fit_posterior(logs, logs.rows(X, y), y).predict_proba(logs.rows(X))

    expected = nb.fit_posterior(logs, logs.rows(POSITIVE, Y), Y).predict_proba(logs.rows(POSITIVE))
    assert isinstance(logs.rows(X).cells["x"], jax.Array)
    assert_allclose(jax.jit(predict)(X, y), expected, rtol=1e-4)
    with pytest.raises(ValueError, match=REFUSED):
        jax.jit(lambda X: nb.fit_posterior(logs, X, y).log_evidence)(X)
    inside = jax.jit(lambda: logs.rows(NEW))()  # numpy rows in a jit
    assert_allclose(inside.cells["x"], np.log(NEW), rtol=1e-5)


def test_every_kind_of_fit_keeps_the_refusal(logs, tmp_path):
    fit, new = nb.fit_posterior(logs, logs.rows(POSITIVE, Y), Y), logs.rows(NEW)
    expected = fit.predict_proba(new)
    nb.save(fit, tmp_path / "fit.nb")
    others = (
        nb.load(tmp_path / "fit.nb"),
        jax.tree.map(lambda x: x, fit),
        jax.jit(lambda fit: fit)(fit),
        pickle.loads(pickle.dumps(fit)),
        nb.fit_posterior(pickle.loads(pickle.dumps(logs)), logs.rows(POSITIVE, Y), Y),
    )
    for other in others:
        assert_allclose(other.predict_proba(new), expected, rtol=1e-5)
        with pytest.raises(ValueError, match=REFUSED):
            other.predict_proba(NEW)
        with pytest.raises(ValueError, match=r"model\.rows is not available in a model that was loaded"):
            other.model.rows(NEW)
    other = fit.with_class_probs([0.5, 0.5])
    assert other.predict_proba(new).shape == (5, K)
    with pytest.raises(ValueError, match=REFUSED):
        other.predict_proba(NEW)


def test_what_another_program_observes_is_refused(logs, columns):
    other = nb.from_numpyro(observing(standardise), (POSITIVE, Y), label="y")
    with pytest.warns(UserWarning, match="depends on the others"):
        found = other.rows(POSITIVE, Y)
    with pytest.raises(ValueError, match=REFUSED + r".* got ObservedRows\(.*program='program'\)"):
        nb.fit_posterior(logs, found, Y)
    same = nb.from_numpyro(observing(lambda X: X), (REALS, Y), label="y")
    with pytest.raises(ValueError, match=REFUSED):
        nb.fit_posterior(same, columns.rows(WIDE), Y)


def test_the_certificate_is_that_of_the_recognised_model_alone(logs):
    assert logs.certificate is not None
    assert logs.with_class_probs([0.5, 0.5]).certificate is None
    assert nb.fit_posterior(logs, logs.rows(POSITIVE, Y), Y).model.certificate is None
    assert_array_equal(logs.with_class_probs([0.5, 0.5]).rows(NEW).cells["x"], logs.rows(NEW).cells["x"])


def test_generated_rows_are_rows_of_the_model(logs):
    fit = nb.fit_posterior(logs, logs.rows(POSITIVE, Y), Y)
    X, y = fit.generate(key=jax.random.key(0), num_rows=20)
    assert X.program == "log_program"
    assert nb.fit_posterior(logs, X, y).predict_proba(X).shape == (20, K)


def test_the_estimator_refuses(logs):
    for X in (POSITIVE, logs.rows(POSITIVE, Y)):
        with pytest.raises(ValueError, match=r"observes other rows than its arguments.*model\.rows"):
            nb.NaiveBayesClassifier(logs).fit(X, Y)


def test_arguments_that_are_no_rows_are_refused_in_a_sentence(logs):
    with pytest.raises(ValueError, match=r"the program fails when it is called as fn\(\): TypeError: .*'X'"):
        logs.rows()

    def optional(X=None, y=None):
        mu = table("mu", dist.Normal(0.0, 3.0))
        rows(None if X is None else jnp.log(X), y, lambda y: dist.Normal(mu[y], 1.0))

    model = nb.from_numpyro(optional, (POSITIVE, Y), label="y")
    with pytest.raises(ValueError, match="the program does not observe 'x' with these arguments"):
        model.rows(None, Y)
    with pytest.raises(ValueError, match="is not available"):
        nb.NaiveBayes(nb.Normal()).rows(REALS)


@pytest.mark.slow
def test_labels_that_are_an_argument_alone_may_be_left_out():
    def program(strength, X, y):
        mu = numpyro.sample("mu", dist.Normal(strength, 3.0).expand([K, D]).to_event(2))
        numpyro.sample("x", dist.Normal(mu[jnp.asarray(y.values)], 1.0).to_event(1), obs=jnp.log(X))

    strength = np.zeros(D)
    model = nb.from_numpyro(program, (strength, POSITIVE, pd.Series(Y)), label="y")
    for found in (model.rows(strength, NEW), model.rows(strength, X=NEW, y=None)):
        assert_allclose(found.cells["x"], np.log(NEW), rtol=1e-12)


def test_what_a_partial_holds_is_an_argument_too():
    held = partial(log_program, X=POSITIVE, y=Y)
    model = nb.from_numpyro(held, label="y")
    assert_allclose(model.rows().cells["x"], np.log(POSITIVE), rtol=1e-12)
    assert_allclose(model.rows(X=NEW).cells["x"], np.log(NEW), rtol=1e-12)
    with pytest.raises(ValueError, match=REFUSED):
        nb.fit_posterior(model, POSITIVE, Y)


@pytest.mark.slow
@pytest.mark.parametrize("change", [np.log, np.asarray], ids=["logs", "as it is"])
def test_frames_and_rows_of_the_programs_own_may_be_many(change):
    """More rows than are probed, which cannot be cut from the program."""
    X, y = np.exp(np.random.default_rng(3).normal(size=(100, D))), np.arange(100) % K

    def frame(df, y):
        mu = table("mu", dist.Normal(0.0, 3.0))
        rows(jnp.asarray(change(df.to_numpy())), y, lambda y: dist.Normal(mu[y], 1.0))

    model = nb.from_numpyro(frame, (pd.DataFrame(X), y), label="y")
    assert ("rows: an argument as it is" in repr(model.certificate)) == (change is np.asarray)
    assert_allclose(model.rows(pd.DataFrame(NEW)).cells["x"], change(NEW), rtol=1e-12)
    own = nb.from_numpyro(lambda y: frame(pd.DataFrame(X), y), (y,), label="y")
    assert "rows: the program's own, as no argument has any" in repr(own.certificate)
    assert_allclose(
        nb.fit_posterior(own, change(X), y).log_evidence, nb.fit_posterior(own, own.rows(y), y).log_evidence
    )


@pytest.mark.slow
def test_a_program_that_takes_no_other_numbers_is_compared_by_its_rows():
    def program(X, y):
        if (np.asarray(X) <= 0.0).any():
            raise RuntimeError("positive numbers only")
        observing(standardise)(X, y)

    model = nb.from_numpyro(program, (POSITIVE, Y), label="y")
    assert "each depends on the other rows" in repr(model.certificate)
