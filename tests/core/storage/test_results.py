"""Results saved to files, bytes and open files come back with the same type and numbers; others are refused."""

import io
import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
import pytest
from numpy.testing import assert_array_equal

import bayesnb as nb
from bayesnb.core.storage import _tensors as tensors
from tests import cases
from tests.identical import assert_identical, saved

X, Y = np.array([[0, 1, 1], [1, 0, 1], [1, 1, 0], [0, 0, 1], [1, 1, 1], [0, 1, 0]]), np.array([0, 1, 1, 0, 1, 0])
MODEL = nb.NaiveBayes(nb.Bernoulli(), class_concentration=2.0)
KEY, STEPS = jax.random.key(0), {"num_steps": np.arange(4)}
NUTS = {"key": KEY, "num_warmup": 20, "num_samples": 30, "num_chains": 2, "progress_bar": False}
HYPER = nb.NaiveBayes(nb.Bernoulli(a=dist.Gamma(2.0, 1.0), b=dist.TruncatedNormal(1.0, 2.0, low=0.1)))
OWN = nb.NaiveBayes(nb.Bernoulli(), priors={"x_probs": dist.Uniform(0.2, 0.8)})


RESULTS = {
    "model": lambda: MODEL,
    "hyperpriors": lambda: HYPER,
    "own priors": lambda: OWN,
    "statistics": lambda: nb.sufficient_statistics(MODEL, X, Y),
    "MLE": lambda: nb.fit_mle(MODEL, X, Y),
    "MAP of JAX rows": lambda: nb.fit_map(MODEL, jnp.asarray(X), jnp.asarray(Y)),
    "posterior": lambda: nb.fit_posterior(MODEL, X, Y),
    "another population": lambda: nb.fit_posterior(MODEL, X, Y).with_class_probs([0.3, 0.7]),
    "tempered": lambda: nb.temper(nb.fit_posterior(MODEL, X, Y), X, Y, per_feature=True),
    "learned prior": lambda: nb.fit_empirical(MODEL, X, Y),
    "averaged": lambda: nb.fit_averaged(MODEL, X, Y),
    "discounted": lambda: nb.fit_posterior(MODEL, statistics=nb.discount(nb.sufficient_statistics(MODEL, X, Y), 0.3)),
    "learned forgetting": lambda: nb.fit_forgetting(MODEL, X, Y).fit,
    "EM": lambda: nb.fit_em(MODEL, X, np.where(Y == 1, -1, Y), max_iterations=3),
    "labels": lambda: nb.fit_multilabel(MODEL, X, np.stack([Y, 1 - Y], axis=1)),
    "given draws": lambda: nb.Draws(MODEL.resolve(X, Y), nb.fit_posterior(MODEL, X, Y).sample(KEY, 4), STEPS, 2),
    "draws": lambda: nb.fit_nuts(MODEL, X, Y, **NUTS),
    "draws of hyperpriors": lambda: nb.fit_nuts(HYPER, X, Y, **NUTS),
    "draws of own priors": lambda: nb.fit_nuts(OWN, X, Y, **NUTS),
}


@pytest.mark.filterwarnings("ignore::UserWarning")  # so few rows and draws are not to be trusted
@pytest.mark.parametrize("kind", cases.by_default(RESULTS, *(kind for kind in RESULTS if not kind.startswith("draws"))))
def test_every_result_comes_back_to_the_bit(kind, tmp_path):
    fit = RESULTS[kind]()
    again = nb.load(saved(fit, tmp_path))
    assert type(again) is type(fit)
    assert repr(again) == repr(fit)
    assert_identical(again, fit)
    if hasattr(fit, "predict_proba"):
        assert_array_equal(again.predict_proba(X), fit.predict_proba(X))


def parts(path):
    """The names of the fields of a saved result."""
    return {*tensors.read(path)[0]["result"]["node"][1]}


@pytest.mark.parametrize("name", cases.NAMES)
def test_every_family_comes_back_from_its_causes_as_the_host_updates_alike_each_time(name, tmp_path):
    model, rows, y = cases.make(name)
    fit = nb.fit_posterior(model, rows, y)
    assert_identical(fit.prior.update(fit.statistics), fit.prior.update(fit.statistics))
    beside = {"powers"} if fit.powers is not None else set()
    assert parts(saved(fit, tmp_path)) == {"prior", "statistics"} | beside
    again = nb.load(tmp_path / "fit.bayesnb")
    assert_identical(again, fit)
    assert_array_equal(again.log_joint(rows), fit.log_joint(rows))
    assert again.log_evidence == fit.log_evidence
    moved = fit.with_class_probs(np.full(fit.statistics.num_classes, 1 / fit.statistics.num_classes))
    assert parts(saved(moved, tmp_path)) == {"prior", "statistics", "class_probs"} | beside
    assert_identical(nb.load(tmp_path / "fit.bayesnb"), moved)


@pytest.mark.slow
def test_what_xla_computed_in_another_way_is_stored_as_it_is(tmp_path):
    rows = jnp.asarray(np.random.default_rng(0).normal(3.0, 7.0, (50, 8)))
    model = nb.NaiveBayes(nb.Normal(), num_classes=2)
    fit = jax.jit(lambda X, y: nb.fit_posterior(model, X, y))(rows, jnp.arange(50) % 2)
    assert_identical(nb.load(saved(fit, tmp_path)), fit)
    rounded = replace(fit, model=jax.tree.map(lambda leaf: jnp.nextafter(leaf, 2 * leaf), fit.model))
    assert parts(saved(rounded, tmp_path)) == {"prior", "statistics", "model"}
    assert_identical(nb.load(tmp_path / "fit.bayesnb"), rounded)
    other = replace(fit, model=fit.prior)
    with pytest.raises(nb.StorageError, match="the model of a posterior must be its prior, updated by"):
        nb.save(other, tmp_path / "other")


def test_what_comes_back_can_be_fitted_and_used_inside_jit(tmp_path):
    model, fit = (nb.load(saved(one, tmp_path)) for one in (MODEL, nb.fit_posterior(MODEL, X, Y)))
    assert_identical(nb.fit_posterior(model, X, Y), fit)
    rows = jnp.asarray(X)
    assert_array_equal(jax.jit(lambda rows: fit.predict(rows))(rows), fit.predict(rows))


def test_tracers_are_refused(tmp_path):
    model = nb.NaiveBayes(nb.Bernoulli(), num_classes=2)
    with pytest.raises(nb.StorageError, match="has no values yet"):
        jax.jit(lambda y: nb.save(nb.fit_posterior(model, X, y), tmp_path / "fit"))(jnp.asarray(Y))


def test_a_file_that_cannot_be_written_leaves_the_old_one(tmp_path, monkeypatch):
    path = saved(MODEL, tmp_path)
    before = path.read_bytes()

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(nb.StorageError, match=r"cannot be written: No space left on device"):
        nb.save(nb.fit_posterior(MODEL, X, Y), path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]
    with pytest.raises(nb.StorageError, match="cannot be written: No such file or directory"):
        nb.save(MODEL, tmp_path / "nowhere" / "fit")


@pytest.mark.slow
def test_several_writers_and_a_reader(tmp_path):
    """Whoever comes, the file is whole."""
    fits = [
        nb.fit_posterior(nb.NaiveBayes(nb.Normal()), np.full((4, 5_000), [[v], [1], [2], [3]]), Y[:4]) for v in (4, 5)
    ]
    path = saved(fits[0], tmp_path)

    def write(turn):
        nb.save(fits[turn % 2], path)
        return nb.load(path)

    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(write, range(24)))
    assert all(isinstance(fit, nb.Posterior) for fit in found)
    assert list(tmp_path.iterdir()) == [path]


def test_other_files_and_links_stay(tmp_path):
    (tmp_path / "fit.bayesnb.new").write_text("mine")
    real = saved(MODEL, tmp_path)
    link = tmp_path / "link"
    link.symlink_to(real)
    nb.save(nb.fit_posterior(MODEL, X, Y), link)
    assert link.is_symlink()
    assert isinstance(nb.load(real), nb.Posterior)
    assert (tmp_path / "fit.bayesnb.new").read_text() == "mine"


@pytest.mark.parametrize("name", ["", ".", "/", "a\0b"])
def test_names_of_no_file(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(nb.StorageError, match="cannot be written"):
        nb.save(MODEL, name)
    with pytest.raises(nb.StorageError):
        nb.load(name)


# results saved to, and loaded from, bytes and open files


FLAGS, LABELS = np.array([[0, 1], [1, 1], [1, 0], [0, 0]]), [0, 1, 1, 0]


@cache
def fit():
    return nb.fit_posterior(nb.NaiveBayes(nb.Bernoulli()), FLAGS, LABELS)


@pytest.fixture(scope="module")
def content():
    file = io.BytesIO()
    nb.save(fit(), file)
    return file.getvalue()


@pytest.mark.parametrize("given", [bytes, bytearray, memoryview, io.BytesIO])
def test_bytes_are_the_file(given, content, tmp_path):
    (tmp_path / "fit").write_bytes(content)
    assert nb.load(tmp_path / "fit").log_evidence == fit().log_evidence
    np.testing.assert_array_equal(nb.load(given(content)).predict_proba(FLAGS), fit().predict_proba(FLAGS))


def test_files_that_are_open(tmp_path):
    with (tmp_path / "fit").open("wb") as file:
        nb.save(fit(), file)
    with (tmp_path / "fit").open("rb") as file:
        assert nb.load(file).log_evidence == fit().log_evidence


def test_files_that_are_closed_or_open_for_the_other(tmp_path):
    path = tmp_path / "fit"
    nb.save(fit(), path)
    with path.open("rb") as file, pytest.raises(nb.StorageError, match="cannot write: open it again"):
        nb.save(fit(), file)
    with pytest.raises(nb.StorageError, match="is closed, or cannot read: open it again"):
        nb.load(file)


def test_other_places_are_refused():
    with pytest.raises(nb.StorageError, match=r"^expected a path, bytes, or a file open for reading bytes, got int$"):
        nb.load(5)
    with pytest.raises(nb.StorageError, match=r"a file open for writing bytes, got a file of text$"):
        nb.save(fit(), io.StringIO())
