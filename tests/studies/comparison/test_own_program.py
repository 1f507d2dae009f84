"""A NumPyro program as a method of an experiment: what it sees of a set, the model that it is, and what is refused."""

import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import bayesnb as nb
from bayesnb.studies.comparison._data_sets import read_sets
from bayesnb.studies.comparison._own_program import recognise_set
from bayesnb.tables.frames._series import DataError

RANDOM = np.random.default_rng(3)
LABELS = RANDOM.permutation(np.arange(60) % 2)
VISITS = RANDOM.poisson(2.0 + 3.0 * LABELS[:, None], (60, 3)).astype(float)
FRAME = pd.DataFrame(VISITS, columns=["north", "east", "south"]).assign(answer=np.where(LABELS, "yes", "no"))
FRAME.loc[4, "east"] = np.nan
FRAME.loc[:9, "south"] = np.arange(20, 30)  # more than ten values: numbers by default, and the others categories
FRAME["twin"] = FRAME["north"]  # equal where no cell is missing
FRAME.loc[np.flatnonzero(FRAME["north"] == FRAME["north"][0])[1], "twin"] = np.nan
COLUMNS = ["north", "east", "south", "twin"]


def visits(X, y, num_classes):
    pi = numpyro.sample("pi", dist.Dirichlet(jnp.ones(num_classes)))
    rate = numpyro.sample("rate", dist.Gamma(2.0, 0.5).expand([num_classes, X.shape[1]]))
    with numpyro.plate("rows", len(X)):
        k = numpyro.sample("k", dist.Categorical(pi), obs=y)
        numpyro.sample("seen", dist.Poisson(rate[k]).to_event(1), obs=X)


def set_of(frame):
    return read_sets({"visits": (frame, "answer")}, 0)[0]


pytestmark = pytest.mark.filterwarnings("ignore:set 'visits'.*are rows repeated")


@pytest.fixture(scope="module")
def recognised():
    return recognise_set(visits, set_of(FRAME))


@pytest.mark.slow
def test_the_program_gets_numbers_in_order_and_its_model_missing_cells(recognised):
    data, model = recognised
    X, y = data.rows(np.arange(60))
    assert_array_equal(data.table.X["x"], FRAME[COLUMNS])
    assert_allclose(model.families["x"].shape, 2.0, rtol=1e-12)
    assert_allclose(model.families["x"].rate, 0.5, rtol=1e-12)
    assert data.model is model
    exact, own = nb.fit_posterior(model, X, y), nb.NaiveBayes(nb.Poisson(2.0, 0.5))
    expected = nb.fit_posterior(own, FRAME[COLUMNS].to_numpy(), LABELS).predict_proba(FRAME[COLUMNS].to_numpy())
    assert_allclose(exact.predict_proba(X), expected, rtol=1e-6)


def test_an_experiment_with_the_program_is_one_with_its_model(monkeypatch, recognised):
    monkeypatch.setattr("bayesnb.studies.comparison._contestants.recognise_set", lambda *_: recognised)  # compiles long
    study = nb.experiment({"visits": (FRAME, "answer")}, ["full Bayes", visits], sizes=[20, 30], splits=3)
    assert study.failures().empty
    model = nb.NaiveBayes(nb.Poisson(2.0, 0.5))
    cells = FRAME[COLUMNS].to_numpy()
    own = nb.experiment({"visits": (model, cells, LABELS)}, ["full Bayes"], sizes=[20, 30], splits=3)
    assert_allclose(study.scores(size=20).loc["visits", "visits"], own.scores(size=20).loc["visits", "full Bayes"])


def mixed(table, classes, K=2):
    pi = numpyro.sample("pi", dist.Dirichlet(jnp.ones(K)))
    rate = numpyro.sample("rate", dist.Gamma(2.0, 1.0).expand([K]))
    many = numpyro.sample("many", dist.Beta(1.0, 2.0).expand([K]))
    seen = numpyro.sample("seen", dist.Dirichlet(jnp.ones(3)).expand([K]))
    with numpyro.plate("rows", len(table)):
        k = numpyro.sample("k", dist.Categorical(pi), obs=classes)
        numpyro.sample("visits", dist.Poisson(rate[k]), obs=table[:, 1])
        numpyro.sample("often", dist.Bernoulli(many[k]), obs=(table[:, 0] > 4).astype(int))
        numpyro.sample("colour", dist.Categorical(seen[k]), obs=table[:, 2].astype(int))


@pytest.mark.slow
def test_columns_and_cells_that_the_program_computes():
    colours = np.array(["blue", "green", "red"])[np.arange(60) % 3]
    frame = FRAME[["north", "east"]].assign(colour=colours, answer=FRAME["answer"])
    with pytest.raises(DataError, match="observes cells that are no columns of set 'visits', and some"):
        recognise_set(mixed, set_of(frame))
    whole = frame.dropna()
    data, model = recognise_set(mixed, set_of(whole))
    X, _ = data.rows(np.arange(len(whole)))
    assert_array_equal(X["visits"][:, 0], whole["east"])
    assert_array_equal(X["often"][:, 0], whole["north"] > 4)
    assert_array_equal(X["colour"][:, 0], (np.arange(60) % 3)[frame["east"].notna()])
    assert model.sites() == ["class_probs", "visits_rate", "often_probs", "colour_probs"]


def test_text_is_codes_and_other_columns_are_numbers():
    def program(cells, y):  # noqa: ARG001
        seen["cells"] = cells
        raise KeyError("enough")

    seen = {}
    words = np.array(["b", "a", "c"])[np.arange(60) % 3]
    frame = FRAME.assign(south=np.tile([2.0, 5.0, 7.0], 20), east=words)[["south", "east", "north", "answer"]]
    with pytest.raises(nb.NotNaiveBayes, match="the program fails when it is called as fn"):
        recognise_set(program, set_of(frame))
    assert_array_equal(seen["cells"][:, 0], frame["south"])
    assert_array_equal(seen["cells"][:, 1], np.tile([1, 0, 2], 20))
    assert_array_equal(seen["cells"][:, 2], frame["north"])


def first(X, y):  # noqa: ARG001
    numpyro.sample("y", dist.Bernoulli(0.5), obs=y)


def alone(X):
    numpyro.sample("x", dist.Normal(0.0, 1.0), obs=X)


def three(X, y):
    rate = numpyro.sample("rate", dist.Gamma(2.0, 1.0).expand([3]))
    numpyro.sample("x", dist.Poisson(rate[y]), obs=X[:, 0])


def tries(X, y):
    theta = numpyro.sample("theta", dist.Beta(1.0, 1.0).expand([2]))
    numpyro.sample("wins", dist.Binomial(X[:, 1].astype(int) + 30, theta[y]), obs=X[:, 0])


@pytest.mark.parametrize(
    ("program", "words"),
    [
        (tries, "block 'x' of set 'visits' has totals that differ between rows"),
        (alone, "the program fails when it is called as fn.*: TypeError: .*unexpected keyword argument 'y'"),
        (first, "a regression of the label on them is another model"),
        (three, "the program has 3 classes, and set 'visits' has 2: give the program an argument num_classes"),
    ],
)
def test_a_program_of_another_kind_is_refused_in_a_sentence(program, words):
    with pytest.raises(ValueError, match=words):
        recognise_set(program, set_of(FRAME))


def test_a_program_without_an_exact_posterior_has_the_reason_in_its_cells():
    def wide(X, y):
        mu = numpyro.sample("mu", dist.Normal(0.0, 5.0).expand([2]))
        sigma = numpyro.sample("sigma", dist.HalfNormal(1.0))  # of both classes
        numpyro.sample("x", dist.Normal(mu[y], sigma), obs=X[:, 0])

    study = nb.experiment({"visits": (FRAME.dropna(), "answer")}, ["MLE", wide], sizes=[20], splits=1)
    reason = study.failures()["reason"].iloc[0]
    assert "non-conjugate priors for x_loc, x_variance, so there is no closed form" in reason
    assert {*study.failures()["method"]} == {"wide"}


def test_a_set_with_a_model_has_no_place_for_a_program():
    given = {"visits": (nb.NaiveBayes(nb.Poisson()), np.nan_to_num(FRAME[COLUMNS].to_numpy()), LABELS)}
    study = nb.experiment(given, ["MLE", visits], sizes=[20], splits=1)
    assert "has a model with its own prior, which 'visits' would replace: leave" in study.failures()["reason"].iloc[0]
