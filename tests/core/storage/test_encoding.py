"""Results as JSON and arrays, and back: every kind of number and of field; what no result can be is refused."""

from dataclasses import field

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
import pytest
from numpy.testing import assert_array_equal

import bayesnb as nb
from bayesnb.compute.arrays._placement import pytree
from bayesnb.core.storage import _tensors as tensors
from tests.identical import assert_identical, saved

X, Y = np.array([[0, 1, 1], [1, 0, 1], [1, 1, 0], [0, 0, 1], [1, 1, 1], [0, 1, 0]]), np.array([0, 1, 1, 0, 1, 0])


MODEL = nb.NaiveBayes(nb.Bernoulli(), class_concentration=2.0)


OPAQUE = dist.TransformedDistribution(dist.Normal(), dist.transforms.SoftplusTransform())


def test_fields_of_an_own_family_have_any_name(tmp_path):
    @pytree
    class Renamed(nb.Bernoulli):
        model: str = field(default="plain", metadata={"static": True})
        params: int = field(default=2, metadata={"static": True})

    try:
        model = nb.NaiveBayes(Renamed(model="other"), num_classes=2)
        again = nb.load(saved(model, tmp_path))
        assert (again.families["x"].model, again.families["x"].params) == ("other", 2)
    finally:
        del nb.Family.known["Renamed"]


@pytest.mark.slow
def test_priors_of_one_column_each_come_back(tmp_path):
    prior = dist.TruncatedNormal(jnp.array([0.2, 0.4, 0.9]), 0.1, low=0.0, high=1.0)
    model = nb.load(saved(nb.NaiveBayes(nb.Bernoulli(), priors={"x_probs": prior}), tmp_path))
    with jax.numpy_rank_promotion("allow"):  # NumPyro's own distributions promote ranks
        found, expected = (one.log_prob(jnp.array([0.3, 0.5, 0.7])) for one in (model.priors["x_probs"], prior))
    assert_array_equal(found, expected)


@pytest.mark.parametrize("fit", [nb.fit_posterior, nb.fit_averaged])
def test_doubles_of_jax_stay_doubles(fit, tmp_path):
    with jax.enable_x64(True):
        made = fit(MODEL, jnp.asarray(X), jnp.asarray(Y))
    assert_identical(nb.load(saved(made, tmp_path)), made)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"x": 1}, "save takes a bayesnb fit, estimator, model or statistics, got dict"),
        (
            nb.NaiveBayes(nb.Bernoulli(), priors={"x_probs": OPAQUE}),
            "this NaiveBayes cannot be saved",
        ),
    ],
)
def test_what_is_no_result_is_refused(given, message, tmp_path):
    with pytest.raises(nb.StorageError, match=message):
        nb.save(given, tmp_path / "fit")
    assert not list(tmp_path.iterdir())


def test_a_class_with_the_estimators_name_is_not_the_estimator(tmp_path):
    other = type("NaiveBayesClassifier", (), {"__module__": "bayesnb.tables.sklearn._estimator"})()
    with pytest.raises(nb.StorageError, match=r"save takes a bayesnb fit, .* got NaiveBayesClassifier"):
        nb.save(other, tmp_path / "fit")


@pytest.mark.parametrize("dtype", [">f8", np.longdouble, np.float16])
def test_numbers_of_other_kinds_are_the_machines_own(dtype, tmp_path):
    model = nb.NaiveBayes(nb.Bernoulli(a=np.array([1.0, 2.0, 3.0], dtype)))
    assert_identical(nb.load(saved(model, tmp_path)), model)


@pytest.mark.parametrize(
    "code",
    [
        None,
        {"node": ["os.system", {}]},
        {"node": ["Posterior", {}]},
        {"node": ["PointEstimate", {"model": None, "params": None}]},
        {"node": ["ModelStatistics", {"class_counts": {"array": "0"}, "blocks": {"dict": [["x", 1]]}}]},
        {"distribution": ["warnings", {"dict": []}]},
        {"distribution": ["GaussianRandomWalk", {"dict": [["scale", 1.0], ["num_steps", -5]]}]},
        {"distribution": ["Normal", {"dict": [["scale", "no number"]]}]},
        {"array": "7"},
        {"call": "print"},
        {"array": "0", "tuple": []},
        [1],
    ],
)
def test_a_header_that_is_no_result_is_refused(code, tmp_path):
    (tmp_path / "fit").write_bytes(tensors.to_bytes({"format": "bayesnb result 2", "result": code}, {"0": np.ones(2)}))
    with pytest.raises(nb.StorageError, match="does not contain a valid bayesnb result"):
        nb.load(tmp_path / "fit")
