"""What ArviZ is given, and what it says: dimensions by name, and leave-one-out against the exact one."""

from functools import cache
from unittest.mock import Mock

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import logsumexp

import bayesnb as nb
from bayesnb.compute.arrays import _memory as memory
from bayesnb.inspection._arviz import elpd_data, library, to_arviz
from tests import cases
from tests.inspection.coins import MODEL, NAMES, RANDOM, X, Y, by_hand

CLASSES = ["low", "mid", "high"]
TABLE = ("classes", "features")
DIMENSIONS = {
    "bernoulli": {"probs": TABLE},
    "binomial": {"probs": TABLE},
    "trials": {"probs": TABLE},
    "categorical": {"probs": (*TABLE, "categories")},
    "ragged": {f"probs_{d}": ("classes", f"categories_{d}") for d in range(3)},
    "multinomial": {"probs": TABLE},
    "poisson": {"rate": TABLE},
    "normal": {"loc": TABLE, "variance": TABLE},
    "informed": {"loc": TABLE, "variance": TABLE},
    "known": {"loc": TABLE},
    "histogram": {"probs": (*TABLE, "cells"), "cuts": ("features", "edges"), "total": ("features",)},
    "shared": {"loc": TABLE, "variance": ("features",)},
    "covariance": {"loc": TABLE, "covariance": (*TABLE, "features_other")},
    "discriminant": {"loc": TABLE, "covariance": ("features", "features_other")},
}
CATEGORIES = {"categories": 3, "categories_0": 2, "categories_1": 5, "categories_2": 3, "cells": 4, "edges": 3}


def blocks_of(name):
    """The case of each block by the block's name."""
    return {block: block for block in cases.MIXED} if name == "mixed" else {"x": name}


def some_draws(case, num_chains=2, num_samples=3):
    """Draws that tell every entry of every site."""
    model = case.model.resolve(case.X, case.y)
    size, shapes = num_chains * num_samples, jax.eval_shape(model.reference)
    params = {site: np.arange(size * s.size, dtype=s.dtype).reshape(size, *s.shape) for site, s in shapes.items()}
    return nb.Draws(model, params, {"num_steps": np.arange(size), "diverging": np.zeros(size, bool)}, num_chains)


def check_coordinates(data, name, columns, feature_names):
    posterior = data["posterior"]
    assert posterior["class_probs"].dims == ("chain", "draw", "classes")
    assert posterior["classes"].values.tolist() == CLASSES
    sites = {"class_probs"}
    for block, family in blocks_of(name).items():
        for site, dims in DIMENSIONS[family].items():
            sites.add(f"{block}_{site}")
            array = posterior[f"{block}_{site}"]
            named = [d if d == "classes" else f"{block}_{d}" for d in dims]
            assert array.dims == ("chain", "draw", *named)
            for dim, full in zip(dims, named, strict=True):
                features = feature_names.get(block, list(range(columns[block])))
                known = CLASSES if dim == "classes" else features
                labels = list(range(CATEGORIES[dim])) if dim in CATEGORIES else known
                if dim == "groups":
                    labels = [f"{features[0]}+{features[2]}+{features[3]}", str(features[1])]
                assert array[full].values.tolist() == labels
    assert set(posterior.data_vars) == sites


@pytest.mark.parametrize("name", cases.SEVERAL)
def test_every_site_has_named_dimensions(name):
    """Also of the observed cells, which are stored as they were given."""
    case = cases.make(name)
    draws = some_draws(case)
    columns = draws.model.columns
    features = {block: [f"{block}{d}" for d in range(columns[block])] for block in columns if block != "normal"}
    given = features["x"] if name != "mixed" else features
    data = to_arviz(draws, class_names=CLASSES, feature_names=given, X=case.X, y=case.y, log_likelihood=False)
    check_coordinates(data, name, columns, features)
    for site, value in draws.params.items():
        assert_array_equal(data["posterior"][site].values[1, 2], value[5])
    assert_array_equal(data["sample_stats"]["n_steps"].values, [[0, 1, 2], [3, 4, 5]])
    observed = data["observed_data"]
    assert observed["label"].dims == ("rows",)
    assert_array_equal(observed["label"], case.y)
    for block, family in blocks_of(name).items():
        cells = case.X if name != "mixed" else case.X[block]
        assert observed[block].dims == ("rows", f"{block}_features")
        assert_array_equal(observed[block], cells[0] if family == "trials" else cells)
        if family == "trials":
            assert_array_equal(data["constant_data"][f"{block}_total_count"], cells[1])


def test_an_exact_posterior_is_drawn_as_chains(key):
    case = cases.make("bernoulli")
    posterior = nb.fit_posterior(case.model, case.X, case.y)
    data = to_arviz(posterior, key=key, num_samples=50, num_chains=3)
    assert_array_equal(data["posterior"]["x_probs"].values[2, 7], posterior.sample(key, 150)["x_probs"][107])
    assert data["posterior"]["x_probs"].dtype == np.float64
    assert "sample_stats" not in list(data)


SOME_BLOCKS = ["trials", "multinomial", "shared"]


@pytest.mark.parametrize("names", [SOME_BLOCKS, pytest.param(list(DIMENSIONS), marks=pytest.mark.slow)], ids=len)
def test_log_likelihood_is_the_log_joint_of_every_draw(names):
    """The same by scoring the rows at each draw, on the host; a row without a label has all its classes."""
    model, X, labels = cases.mix(names)
    y = np.where(np.arange(cases.N) == 5, -1, labels)
    halves = [jax.tree.map(lambda x, rows=rows: x[rows], (X, labels)) for rows in (slice(0, 12), slice(12, 24))]
    models = [model.resolve(*half) for half in halves]
    points = [{site: np.asarray(v, np.float64) for site, v in model.reference().items()} for model in models]
    params = {site: np.stack([point[site] for point in points]) for site in points[0]}
    data = to_arviz(nb.Draws(models[0], params, {}, 1), X=X, y=y, log_likelihood=True)
    table = data["log_likelihood"]["log_joint"]
    assert table.dims == ("chain", "draw", "rows")
    assert table.dtype == np.float64
    assert_array_equal(data["observed_data"]["label"], y)
    for draw, point in enumerate(points):
        joint = nb.PointEstimate(models[0], point).log_joint(X)
        exact = np.where(y < 0, logsumexp(joint, axis=1), joint[np.arange(cases.N), y])
        assert_allclose(table.values[0, draw], exact, rtol=1e-9)


def test_jax_arrays_are_taken():
    case = cases.make("bernoulli")
    draws = some_draws(case)
    draws.params["x_probs"] = np.full_like(draws.params["x_probs"], 0.3)
    draws.params["class_probs"] = np.full_like(draws.params["class_probs"], 1 / 3)
    host, device = (
        to_arviz(jax.tree.map(as_array, draws), X=as_array(case.X), y=as_array(case.y), log_likelihood=True)
        for as_array in (np.asarray, jnp.asarray)
    )
    assert_allclose(device["log_likelihood"]["log_joint"], host["log_likelihood"]["log_joint"], rtol=1e-5)


# by NUTS, on coughs and fevers


@pytest.mark.slow
def test_arviz_reads_the_draws_of_nuts(draws):
    data = to_arviz(draws, **NAMES)
    assert set(data["sample_stats"].data_vars) == {"diverging", "n_steps", "acceptance_rate"}
    assert data["sample_stats"]["acceptance_rate"].shape == (4, 500)
    summary = library("a test").summary(data)
    assert "x_probs[flu, fever]" in summary.index
    assert "class_probs[cold]" in summary.index


@pytest.mark.slow
def test_pareto_smoothed_leave_one_out_estimates_the_exact_one(draws):
    """Within 5 Monte Carlo standard errors of an importance sampling estimate, row by row and in sum."""
    data = to_arviz(draws, X=X, y=Y)  # with rows the log likelihood is there without being asked for
    loo = library("a test").loo(data, pointwise=True)
    elpd, p_loo = (loo.elpd_i, loo.p) if hasattr(loo, "elpd_i") else (loo.loo_i, loo.p_loo)
    exact = nb.leave_one_out(MODEL, X, Y, joint=True)[np.arange(40), Y]

    likelihood = np.exp(data["log_likelihood"]["log_joint"].values.reshape(2000, 40))
    weight = 1 / likelihood / (1 / likelihood).sum(axis=0)
    left_out = (weight * likelihood).sum(axis=0)
    error = np.sqrt((weight**2 * (likelihood - left_out) ** 2).sum(axis=0)) / left_out
    error *= np.sqrt(2000 / draws.min_ess)
    assert (np.abs(elpd.values - exact) < 5 * error).all()
    within = nb.fit_posterior(MODEL, X, Y).log_joint(X)[np.arange(40), Y]
    assert abs(p_loo - (within - exact).sum()) < 5 * error.sum()
    assert 5 * error.sum() < 0.5 * (within - exact).sum()
    assert_allclose(logsumexp(np.log(likelihood), axis=0) - np.log(2000), within, atol=5 * error.max())


@pytest.mark.slow
def test_the_log_likelihood_of_rows_may_be_left_out(draws, monkeypatch):
    assert "log_likelihood" not in to_arviz(draws)
    without = to_arviz(draws, X=X, y=Y, log_likelihood=False)
    assert "observed_data" in without
    assert "log_likelihood" not in without
    monkeypatch.setattr(memory, "require", Mock(side_effect=ValueError("too much")))
    with pytest.raises(ValueError, match="too much"):
        to_arviz(draws, X=X, y=Y)
    size, what, advice = memory.require.call_args.args
    assert size == 8 * 40 * 2000
    assert what == "the log likelihood of 40 rows"
    assert "log_likelihood=False" in advice


def test_hyperparameters_have_no_classes():
    """Their sites stand beside those of the parameters; a number has no brackets."""
    draws = by_hand(np.full((800, 2), 0.5))
    draws.params["x_prior_a"] = RANDOM[:, 0]
    draws.params["x_prior_b"] = RANDOM[:, 1:]
    assert to_arviz(draws)["posterior"]["x_prior_a"].dims == ("chain", "draw")


CASE = cases.make("bernoulli")


@cache
def some(name="bernoulli"):
    return some_draws(cases.make(name))


@cache
def exact():
    return nb.fit_posterior(CASE.model, CASE.X, CASE.y)


POINT = nb.PointEstimate(MODEL, {"class_probs": [0.5, 0.5], "x_probs": np.full((2, 2), 0.5)})


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: to_arviz(POINT), "Draws from fit_nuts, or a Posterior from fit_posterior; got PointEstimate"),
        (lambda: to_arviz(exact()), r"give key, such as key=jax\.random\.key\(0\)"),
        (lambda: to_arviz(exact(), key=7), "key must be a single JAX random key"),
        (lambda: to_arviz(exact(), key=jax.random.key(0), num_chains=0), "num_chains must be a positive int"),
        (lambda: to_arviz(some(), class_names=["a", "b"]), "class_names must be a list of 3 names, got 2"),
        (lambda: to_arviz(some(), class_names="abc"), "class_names must be a list of 3 names, got 'abc'"),
        (
            lambda: to_arviz(some(), class_names=["a", "b", "a"]),
            "class_names must differ from each other, got 'a' more",
        ),
        (lambda: to_arviz(some(), feature_names=["a"]), "feature_names of block 'x' must be a list of 4 names, got 1"),
        (lambda: to_arviz(some(), feature_names=4), "must be a list of 4 names, got 4"),
        (lambda: to_arviz(some(), feature_names={"z": "abcd"}), "feature_names has the block 'z', the model has 'x'"),
        (
            lambda: to_arviz(some("mixed"), feature_names=["a"]),
            "must be a dict of lists by those names, got a list",
        ),
        (
            lambda: to_arviz(some("mixed"), feature_names={"normal": ["a"]}),
            "of block 'normal' must be a list of 3 names",
        ),
        (lambda: to_arviz(some(), log_likelihood=True), "log_likelihood=True needs the rows that were fitted"),
        (lambda: to_arviz(some(), X=CASE.X), "give X and y together: y is missing"),
        (lambda: to_arviz(some(), y=CASE.y), "give X and y together: X is missing"),
        (lambda: to_arviz(some(), X=CASE.X, y=np.eye(3)[CASE.y]), r"integer labels \[N\]"),
        (lambda: to_arviz(some(), X=CASE.X, y=CASE.y + 1), r"expected integers 0\.\.2"),
        (lambda: to_arviz(some(), X=CASE.X, y=CASE.y - 2), r"expected integers 0\.\.2"),
        (lambda: to_arviz(some(), X=CASE.X[:, :3], y=CASE.y), "has 3 columns, the model has 4"),
        (lambda: jax.jit(to_arviz)(some()), "cannot run inside a JAX transformation"),
    ],
)
def test_bad_input_is_told_in_a_sentence(call, sentence):
    with pytest.raises(ValueError, match=sentence):
        call()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:The inplace keyword")  # ArviZ 0.23 with pandas 3
def test_arviz_compares_exact_leave_one_out_row_for_row():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 150)
    x = rng.normal(y[:, None], 1.0, (150, 3))
    priors = {"wide": nb.Normal(), "narrow": nb.Normal(strength=50.0, shape=20.0), "low": nb.Normal(shape=5.0)}
    rows = {k: nb.leave_one_out(nb.NaiveBayes(p), x, y)[np.arange(150), y] for k, p in priors.items()}
    unrounded = {"round_to": "none"} if hasattr(library("a test"), "ELPDDataLOO") else {}
    table = library("a test").compare({name: elpd_data(values) for name, values in rows.items()}, **unrounded)
    best = max(rows, key=lambda name: rows[name].sum())
    assert table.index[0] == best
    for name in table.index:
        d, row = rows[best] - rows[name], table.loc[name].astype(object)
        assert_allclose(float(row.get("elpd", row.get("elpd_loo"))), rows[name].sum())
        assert_allclose(abs(float(row["elpd_diff"])), d.sum(), atol=1e-10)
        assert_allclose(float(row["dse"]), np.sqrt(150) * np.std(d), atol=1e-10)
    assert "elpd_loo" in str(elpd_data(rows["wide"]))


def test_values_of_their_own_name_the_axis_of_their_probabilities():
    model = nb.NaiveBayes(nb.Hurdle(nb.LogNormal(), at=(0.0, np.nan)))
    post = nb.fit_posterior(model, [[0.0], [1.0], [2.0], [np.nan]], [0, 0, 1, 1])
    data = to_arviz(post, key=jax.random.key(0), num_samples=10)
    atoms = data["posterior"]["x_atoms"]
    assert atoms.dims[2:] == ("classes", "x_features", "x_categories")
    assert data["posterior"].coords["x_categories"].values.tolist() == ["0", "NaN", "other"]
