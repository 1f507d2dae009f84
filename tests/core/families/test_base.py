"""CONTRIBUTING's family, verbatim, through every door: one file is enough to add a family."""

import copy
import pickle
import re
import sys
from pathlib import Path
from types import ModuleType

import jax
import matplotlib.pyplot as plt
import numpy as np
import numpyro.distributions as dist
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy import stats
from sklearn.base import clone

import bayesnb as nb
from bayesnb.inspection._arviz import library
from tests import laws
from tests.cases import Case, K, N
from tests.replicates import replicates
from tests.served import served

ROOT = Path(nb.__file__).parents[1]
CODE = re.search(r"```python\n(.*?)```", (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"), flags=re.S)[1]


@pytest.fixture(scope="module")
def family():
    module = sys.modules["waiting_times"] = ModuleType("waiting_times")
    exec(CODE, module.__dict__)
    yield module.Exponential
    del sys.modules["waiting_times"], nb.Family.known["Exponential"]


@pytest.fixture
def case(family, rng):
    y = np.arange(N) % K
    X = rng.exponential(1.0 + y[:, None], (N, 3))
    X[rng.random(X.shape) < 0.15] = np.nan
    model = nb.NaiveBayes(family(shape=rng.uniform(0.5, 3, (K, 3)), rate=rng.uniform(0.5, 3, 3)), num_classes=K)
    return Case(model, X, y)


def test_it_is_short():
    assert len(CODE.rstrip().split("\n")) <= 60


@pytest.mark.parametrize("law", laws.LAWS, ids=lambda law: law.__name__)
def test_the_laws(law, case):
    law(case)


def test_the_predictive_is_lomax(case):
    post = nb.fit_posterior(case.model, case.X, case.y)
    own = post.model.families["x"]
    x = np.array([[0.3, 2.0, 5.0]])
    expected = stats.lomax.logpdf(x[:, None], own.shape[None], scale=own.rate[None]).sum(axis=2)
    assert_allclose(post.log_joint(x), expected + np.log(post.model.class_mean()), rtol=1e-9)


def test_one_rate_finds_it_from_the_density(case):
    """As CONTRIBUTING says: posterior, evidence, predictions and leave-one-out are those of the family by hand."""
    prior = case.model.families["x"]
    found = nb.NaiveBayes(nb.OneRate(dist.Exponential, a=prior.shape, b=prior.rate), num_classes=K)
    ours, by_hand = (nb.fit_posterior(model, case.X, case.y) for model in (found, case.model))
    assert_allclose(ours.model.families["x"].a, by_hand.model.families["x"].shape, rtol=1e-9)
    assert_allclose(ours.model.families["x"].b, by_hand.model.families["x"].rate, rtol=1e-9)
    assert_allclose(ours.log_evidence, by_hand.log_evidence, rtol=1e-9)
    assert_allclose(ours.log_joint(case.X), by_hand.log_joint(case.X), rtol=1e-9)
    left_out = [nb.leave_one_out(model, case.X, case.y) for model in (found, case.model)]
    assert_allclose(*left_out, rtol=1e-9, atol=1e-9)


def test_it_is_saved_and_exported(case, tmp_path):
    post = nb.fit_posterior(case.model, case.X, case.y)
    nb.save(post, tmp_path / "fit")
    again = nb.load(tmp_path / "fit")
    assert_allclose(again.log_joint(case.X), post.log_joint(case.X), rtol=0)
    assert type(again.model.families["x"]) is type(case.model.families["x"])
    proba = served(post.predict_proba, case.X)(case.X)
    assert_allclose(proba, post.predict_proba(case.X), rtol=1e-4, atol=1e-6)


def test_onnx_serves_it(case, tmp_path):
    sessions = pytest.importorskip("tests.tables.files.onnx.sessions")
    post = nb.fit_posterior(case.model, case.X, case.y)
    sessions.assert_served(sessions.Served(post, tmp_path), post, case.X)


def test_a_file_needs_the_family(case, tmp_path, family):
    nb.save(nb.fit_posterior(case.model, case.X, case.y), tmp_path / "fit")
    del nb.Family.known["Exponential"]
    try:
        with pytest.raises(nb.StorageError, match="'Exponential' is not a part of a result; define a family"):
            nb.load(tmp_path / "fit")
    finally:
        nb.Family.known["Exponential"] = family


def test_it_is_streamed(case):
    halves = [(case.X[:10], case.y[:10]), (case.X[10:], case.y[10:])]
    whole = nb.sufficient_statistics(case.model, case.X, case.y)
    laws.equal(nb.stream(case.model, iter(halves)), whole, rtol=1e-9)


def test_it_is_explained(case, key):
    post = nb.fit_posterior(case.model, case.X, case.y)
    told = nb.explain(post, case.X, against=0, key=key)
    log_odds = np.asarray(post.predict_log_proba(case.X))
    assert_allclose(told.log_odds, log_odds - log_odds[:, [0]], rtol=1e-6, atol=1e-9)
    top = nb.top_features(post)
    rate = np.asarray(post.model.families["x"].reference()["rate"])
    here = top["0"][0]
    column = int(here.name[2])
    assert_allclose(here.here, 1 / rate[0, column], rtol=1e-6)
    others = [stats.expon(scale=1 / rate[j, column]) for j in (1, 2)]
    own = stats.expon(scale=1 / rate[0, column])
    nats = [own.expect(lambda x, other=other: own.logpdf(x) - other.logpdf(x)) for other in others]
    weight = np.asarray(post.model.class_mean())[1:]
    assert_allclose(here.nats, weight @ nats / weight.sum(), rtol=1e-5)


def test_it_is_drawn(case, key):
    post = nb.fit_posterior(case.model, case.X, case.y)
    ax = nb.plots.class_densities(plt.figure().add_subplot(), post, 1, key=key, num_draws=2000)
    x, y = ax.lines[0].get_data()
    assert x.min() > 0
    own = post.model.families["x"]
    assert_allclose(y, stats.lomax.pdf(x, own.shape[0, 1], scale=own.rate[0, 1]), rtol=0.1, atol=0.02)
    nb.plots.forest(plt.figure().add_subplot(), post, "x_rate", key=key)
    assert nb.plots.nomogram(plt.figure().add_subplot(), post, np.nan_to_num(case.X), against=0)
    plt.close("all")


def test_arviz_knows_its_axes(case, key):
    post = nb.fit_posterior(case.model, case.X, case.y)
    data = nb.to_arviz(post, key=key, num_samples=50, feature_names=["a", "b", "c"])
    assert data.posterior["x_rate"].dims == ("chain", "draw", "classes", "x_features")
    library("a test").summary(data)


def test_pairs_have_no_closed_form(case):
    with pytest.raises(ValueError, match="block 'x' is Exponential: pairs have a closed form for"):
        nb.dependence(np.nan_to_num(case.X), case.y, model=case.model)


def test_forests_take_it_as_a_child(case, family):
    X = {"wait": case.X, "kind": np.arange(N)[:, None] % 3}
    prior = nb.NaiveBayes({"wait": family(shape=2.0), "kind": nb.Categorical(3)}).resolve(X, case.y)
    fit = nb.fit_forests(prior, X, case.y)
    assert (fit.edge_probs[3, :3] > 0).all()
    others = np.arange(N) != 5
    refit = nb.fit_forests(prior, {name: x[others] for name, x in X.items()}, case.y[others])
    expected = refit.predict_log_proba({name: x[5:6] for name, x in X.items()})
    assert_allclose(nb.leave_one_out(fit, X, case.y)[5], expected[0], rtol=1e-9)


@pytest.mark.slow
def test_the_estimator_takes_it(case, family, tmp_path):
    frame = pd.DataFrame({"wait": case.X[:, 0], "queue": case.X[:, 1], "size": case.X[:, 2], "kind": [*"uvw"] * 8})
    labels = np.array(["a", "b", "c"])[case.y]
    waiting = family(shape=2.0)
    clf = nb.NaiveBayesClassifier(likelihoods={"wait": waiting, "queue": waiting}, temper=False).fit(frame, labels)
    assert clf.likelihoods_ == {"wait": "Exponential", "queue": "Exponential", "size": "normal", "kind": "categorical"}
    blocks = {
        "exponential": family(shape=2.0), "numeric": nb.Normal(), "categorical": nb.Categorical(3),
    }  # fmt: skip
    X = {"exponential": case.X[:, :2], "numeric": case.X[:, 2:], "categorical": np.arange(N)[:, None] % 3}
    same = nb.fit_posterior(nb.NaiveBayes(blocks), X, case.y)
    assert_allclose(clf.predict_proba(frame), same.predict_proba(X), rtol=1e-9)
    nb.save(clf, tmp_path / "clf")
    for again in (
        nb.load(tmp_path / "clf"),
        pickle.loads(pickle.dumps(clf)),
        copy.deepcopy(clf),
        clone(clf).fit(frame, labels),
    ):
        assert_allclose(again.predict_proba(frame), clf.predict_proba(frame), rtol=1e-12)
    parts = nb.NaiveBayesClassifier(likelihoods={"wait": waiting, "queue": waiting}, temper=False)
    parts.partial_fit(frame[:9], labels[:9], classes=["a", "b", "c"]).partial_fit(frame[9:], labels[9:])
    assert_allclose(parts.predict_proba(frame), clf.predict_proba(frame), rtol=1e-9)
    two = nb.NaiveBayesClassifier(likelihoods={"wait": family(), "queue": family(shape=3.0)}).fit(frame, labels)
    assert [*two.fit_.model.families][-2:] == ["exponential", "exponential_2"]
    with pytest.raises(ValueError, match="column 'kind' holds text, which cannot be Exponential"):
        nb.NaiveBayesClassifier(likelihoods={"kind": waiting}).fit(frame, labels)
    with pytest.raises(ValueError, match="column 'wait' cannot be Exponential: a cell is a number, 0 or more"):
        clf.predict(frame.assign(wait=-1.0))


@pytest.mark.slow
def test_the_other_fits_take_it(case, key):
    model, X, y = case
    post = nb.fit_posterior(model, X, y)
    assert np.isfinite(nb.cross_validate(model, X, y, folds=3)).all()
    assert_allclose(nb.temper(post, X, y).predict_proba(X).sum(axis=1), 1.0, rtol=1e-6)
    assert replicates(model, X, y, key=key)["x_rate"].shape == (20, K, 3)
    assert nb.fit_empirical(model, X, y).log_evidence > post.log_evidence
    alike = nb.NaiveBayes(type(model.families["x"])())
    assert_allclose(nb.fit_averaged(alike, X, y).predict_proba(X).sum(axis=1), 1.0, rtol=1e-6)
    assert nb.fit_em(model, X, np.where(np.arange(N) % 4, y, -1)).predict(X).shape == (N,)
    rows, _ = post.generate(key=key, num_rows=50)
    assert (rows >= 0).all()
    assert nb.num_parameters(model.resolve(X, y)).total == K * 3 + K - 1
    assert jax.tree.structure(post.model) == jax.tree.structure(post.prior)


@pytest.mark.slow
def test_nuts_takes_it(case, key):
    model, X, y = case
    draws = nb.fit_nuts(model, X, y, key=key, num_warmup=300, num_samples=800, num_chains=2, progress_bar=False)
    expected = nb.fit_posterior(model, X, y).model.families["x"].reference()["rate"]
    assert_allclose(draws.params["x_rate"].mean(axis=0), expected, rtol=0.25)


def test_a_name_of_ours_is_refused_and_another_definition_of_ones_own_is_not(family):
    with pytest.raises(ValueError, match=r"bayesnb has a family named Poisson, .* give yours another name"):
        type("Poisson", (family,), {"__module__": "somewhere"})
    assert nb.Family.known["Poisson"] is nb.Poisson
    assert type("Exponential", (family,), {"__module__": "somewhere"}) is nb.Family.known["Exponential"]
