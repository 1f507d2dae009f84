"""Every public function answers of JAX rows, inside jit and under strict promotion as it does of numpy rows.

Strict is jax_numpy_dtype_promotion, which users may set.
"""

import inspect
import io
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from numpyro import handlers

import bayesnb as nb
from tests import cases
from tests.served import served

FITS = (nb.fit_mle, nb.fit_map, nb.fit_posterior)
PREDICTIONS = ("predict", "predict_proba", "predict_log_proba", "log_joint", "log_density")


def on_a_device(tree: Any) -> Any:
    return jax.tree.map(lambda x: jnp.asarray(x) if isinstance(x, np.ndarray) else x, tree)


def same(found: Any, expected: Any) -> None:
    """Numbers are the same; anything else is only of one structure."""
    for one, other in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        if isinstance(one, jax.Array | np.ndarray | float):
            assert_allclose(np.asarray(one, float), np.asarray(other, float), rtol=2e-3, atol=2e-3)


def answers(model: nb.NaiveBayes, X: Any, y: Any, weight: Any) -> list[Any]:
    """Fits of some rows with all that they answer."""
    fits = [fit(model, X, y, sample_weight=weight) for fit in FITS]
    table = [getattr(fit, name)(X) for fit in fits for name in PREDICTIONS]
    return [*table, fits[-1].log_evidence, nb.leave_one_out(model, X, y, sample_weight=weight, joint=True)]


def families():
    for place in ("host", "device", "jit"):
        for name in cases.NAMES:
            quick, rare = place != "jit" and name in ("ragged", "poisson"), place == "jit" and name != "mixed"
            yield pytest.param(place, name, marks=() if quick else pytest.mark.fuzz if rare else pytest.mark.slow)


@pytest.mark.parametrize(("place", "name"), list(families()))
def test_every_family_fits_and_predicts(name, place):
    """Rows and weights may be integers, and hyperparameters are in double precision."""
    case = cases.make(name)
    model, weight = case.model.resolve(case.X, case.y), np.arange(len(case.y)) % 3
    expected = answers(model, case.X, case.y, weight)
    rows = (case.X, case.y, weight) if place == "host" else on_a_device((case.X, case.y, weight))
    with jax.numpy_dtype_promotion("strict"):
        same((jax.jit(answers) if place == "jit" else answers)(model, *rows), expected)


N, K = 24, 3
Y = np.arange(N) % K
X = {"kind": np.arange(2 * N).reshape(N, 2) // 3 % 3, "size": (np.arange(2.0 * N).reshape(N, 2) % 7) * (1 + Y[:, None])}
MODEL = nb.NaiveBayes({"kind": nb.Categorical(3), "size": nb.Normal()}, num_classes=K)
KINDS = nb.NaiveBayes(nb.Categorical(3), num_classes=K)


def program(x: Any, y: Any) -> None:
    share = numpyro.sample("share", dist.Dirichlet(jnp.ones(K)))
    with numpyro.plate("classes", K):
        loc = numpyro.sample("loc", dist.Normal(0.0, 3.0))
    with numpyro.plate("rows", x.shape[0]):
        label = numpyro.sample("y", dist.Categorical(share), obs=y)
        numpyro.sample("x", dist.Normal(loc[label], 2.0), obs=x)


def saved(fit: Any) -> Any:
    file = io.BytesIO()
    nb.save(fit, file)
    file.seek(0)
    return nb.load(file).predict_proba


def exported(fit: Any) -> int:
    """The number of bytes of its ONNX file."""
    file = io.BytesIO()
    file.name = "fit.onnx"
    nb.export(fit, file)
    return len(file.getvalue())


class Given(NamedTuple):
    X: Any
    y: Any
    w: Any


def key() -> jax.Array:
    return jax.random.key(0)


def draws(x: Any, y: Any) -> Any:
    with pytest.warns(UserWarning, match="do not trust these draws"):
        found = nb.fit_nuts(KINDS, x, y, key=key(), num_warmup=8, num_samples=8, num_chains=1, progress_bar=False)
    return found


def sites(model: nb.NaiveBayes, X: Any, y: Any) -> Any:
    trace = handlers.trace(handlers.seed(model, key())).get_trace(X, y)
    return {name: site["value"] for name, site in trace.items() if site["type"] == "sample"}


CALLS = {
    "sufficient_statistics": lambda r: nb.sufficient_statistics(MODEL, r.X, r.y, sample_weight=r.w),
    "fit_mle": lambda r: nb.fit_mle(MODEL, r.X, r.y),
    "fit_map": lambda r: nb.fit_map(MODEL, r.X, r.y),
    "fit_posterior": lambda r: nb.fit_posterior(MODEL, r.X, r.y),
    "leave_one_out": lambda r: nb.leave_one_out(MODEL, r.X, r.y, sample_weight=r.w),
    "merge": lambda r: nb.merge(*(nb.sufficient_statistics(MODEL, r.X, r.y, sample_weight=v) for v in (r.w, None))),
    "subtract": lambda r: nb.subtract(
        *(nb.sufficient_statistics(MODEL, r.X, r.y, sample_weight=v) for v in (r.w, None))
    ),
    "discount": lambda r: nb.discount(nb.sufficient_statistics(MODEL, r.X, r.y), 0.5),
    "cross_validate": lambda r: nb.cross_validate(MODEL, r.X, r.y, folds=3, sample_weight=r.w),
    "temper": lambda r: nb.temper(nb.fit_posterior(MODEL, r.X, r.y), r.X, r.y).predict_proba(r.X),
    "stacking_weights": lambda r: nb.stacking_weights([nb.fit_posterior(MODEL, r.X, r.y)] * 2, r.X, r.y),
    "compare_evidence": lambda r: nb.compare_evidence({"a": MODEL, "b": MODEL}, r.X, r.y).log_evidence,
    "decide": lambda r: nb.decide(
        nb.fit_map(MODEL, r.X, r.y).predict_proba(r.X), np.arange(9).reshape(3, 3), abstain=2
    ),
    "dependence": lambda r: nb.dependence(r.X["kind"], r.y, sample_weight=r.w),
    "fit_nuts": lambda r: draws(r.X["kind"], r.y).predict_proba(r.X["kind"]),
    "estimate_class_probs": lambda r: nb.estimate_class_probs(nb.fit_map(MODEL, r.X, r.y), r.X),
    "explain": lambda r: nb.explain(nb.fit_posterior(MODEL, r.X, r.y), r.X, key=key(), num_draws=8).contributions,
    "top_features": lambda r: nb.top_features(nb.fit_posterior(MODEL, r.X, r.y)),
    "feature_inclusion": lambda r: nb.feature_inclusion(MODEL, r.X, r.y, sample_weight=r.w),
    "fit_averaged": lambda r: nb.fit_averaged(MODEL, r.X, r.y, sample_weight=r.w).predict_proba(r.X),
    "fit_em": lambda r: nb.fit_em(MODEL, r.X, r.y, sample_weight=r.w).predict_proba(r.X),
    "fit_empirical": lambda r: nb.fit_empirical(MODEL, r.X, r.y, sample_weight=r.w).predict_proba(r.X),
    "fit_forests": lambda r: nb.fit_forests(KINDS, r.X["kind"], r.y, sample_weight=r.w).predict_proba(r.X["kind"]),
    "fit_forgetting": lambda r: nb.fit_forgetting(MODEL, r.X, r.y).factor,
    "fit_multilabel": lambda r: nb.fit_multilabel(
        nb.NaiveBayes(MODEL.families), r.X, jax.nn.one_hot(r.y, K, dtype=int)
    ).predict_proba(r.X),
    "prequential": lambda r: nb.prequential(MODEL, r.X, r.y, 0.9),
    "linear_form": lambda r: nb.linear_form(nb.fit_posterior(KINDS, r.X["kind"], r.y)),
    "linear_form of a covariance": lambda r: nb.linear_form(
        nb.fit_map(nb.NaiveBayes(nb.MultivariateNormal("shared"), num_classes=K), r.X["size"], r.y)
    ),
    "num_parameters": lambda r: nb.num_parameters(MODEL, r.X, r.y),
    "roll_up": lambda r: nb.roll_up(nb.fit_map(MODEL, r.X, r.y).predict_log_proba(r.X), ["a;b", "a;c", "d"]).log_proba,
    "save": lambda r: saved(nb.fit_posterior(MODEL, r.X, r.y))(r.X),
    "load": lambda r: saved(nb.fit_map(MODEL, r.X, r.y))(r.X),
    "export": lambda r: exported(nb.fit_map(MODEL, r.X, r.y)),
    "jax.export": lambda r: served(nb.fit_posterior(MODEL, r.X, r.y).predict_proba, r.X)(r.X),
    "to_arviz": lambda r: (
        nb.to_arviz(
            nb.fit_posterior(MODEL, r.X, r.y), key=key(), num_samples=8, num_chains=1, X=r.X, y=r.y, log_likelihood=True
        )
        .posterior["kind_probs"]
        .values
    ),
    "from_numpyro": lambda r: (
        nb.fit_posterior(
            nb.from_numpyro(program, (r.X["size"][:, 0], r.y), label="y"), r.X["size"][:, 0], r.y
        ).log_evidence
    ),
    "stream": lambda r: nb.stream(MODEL, [(r.X, r.y)], progress_bar=False),
    "infer_likelihoods": lambda r: nb.infer_likelihoods(pd.DataFrame(np.asarray(r.X["size"]), columns=["a", "b"])),
    "decide_set": lambda r: nb.decide_set(nb.fit_posterior(KINDS, r.X["kind"], r.y), r.X["kind"]),
    "robustness": lambda r: nb.robustness(nb.fit_posterior(KINDS, r.X["kind"], r.y), r.X["kind"]),
    "prior_sensitivity": lambda r: nb.prior_sensitivity(nb.fit_posterior(MODEL, r.X, r.y)),
    "prior_gradient": lambda r: nb.prior_gradient(nb.fit_posterior(MODEL, r.X, r.y), r.X),
    "predict_bounds": lambda r: nb.fit_posterior(KINDS, r.X["kind"], r.y).predict_bounds(r.X["kind"]),
    "sample": lambda r: nb.fit_posterior(MODEL, r.X, r.y).sample(key(), 3),
    "generate": lambda r: nb.fit_posterior(MODEL, r.X, r.y).generate(key=key(), num_rows=4),
    "predict_interval": lambda r: nb.fit_posterior(MODEL, r.X, r.y).predict_interval(r.X, key=key(), num_draws=16),
    "contribution_interval": lambda r: nb.fit_posterior(MODEL, r.X, r.y).contribution_interval(
        r.X, key=key(), num_draws=16
    ),
    "with_class_probs": lambda r: nb.fit_map(MODEL, r.X, r.y).with_class_probs([0.5, 0.25, 0.25]).predict_proba(r.X),
    "views": lambda r: answers(
        nb.NaiveBayes(nb.Views(nb.Histogram(), nb.Normal()), num_classes=K), r.X["size"], r.y, r.w
    ),
    "resolve": lambda r: MODEL.resolve(r.X, r.y, sample_weight=r.w),
    "program": lambda r: sites(MODEL.resolve(r.X, r.y), {**r.X, "kind": r.X["kind"].astype(float)}, r.y),
}
DRAWN = ("sample", "generate", "predict_interval", "contribution_interval", "to_arviz")
"""What draws, of JAX rows other draws than of numpy's."""

INSIDE = ("sufficient_statistics", "fit_mle", "fit_map", "fit_posterior", "leave_one_out", "merge", "subtract")
INSIDE += ("discount", "temper", "decide", "feature_inclusion", "fit_averaged", "fit_multilabel", "linear_form")
INSIDE += ("linear_form of a covariance", "with_class_probs")
"""What runs inside ``jit``, the fit as well."""

QUICK = ("sufficient_statistics", "merge", "discount", "leave_one_out", "top_features")
FILES = {
    "fit_file",
    "fit_table",
    "predict_table",
    "describe_table",
    "no_rows",
    "experiment",
    "load_experiment",
    "merge_experiments",
    "methods",
    "forward",
}  # of paths, or of many fits on the host: their own tests, and the examples of their docstrings


def test_every_function_is_called():
    functions = {name for name in nb.__all__ if inspect.isfunction(getattr(nb, name))}
    assert functions - {*CALLS} == FILES


def calls():
    for place in ("host", "device", "jit"):
        for name in CALLS if place != "jit" else INSIDE:
            quick = place != "jit" and (name in QUICK or (place == "host" and name == "predict_interval"))
            yield pytest.param(place, name, marks=() if quick else pytest.mark.slow)


@pytest.mark.parametrize(("place", "name"), list(calls()))
def test_every_function_answers(place, name):
    rows = Given(X, Y, 1.0 + np.arange(N) % 2)
    given, call = rows if place == "host" else on_a_device(rows), CALLS[name]
    expected = call(given if name in DRAWN else rows)
    with jax.numpy_dtype_promotion("strict"):
        same((jax.jit(call) if place == "jit" else call)(given), expected)


def test_a_users_own_setting_stays():
    with jax.numpy_dtype_promotion("strict"):
        nb.fit_map(KINDS, jnp.asarray(X["kind"]), jnp.asarray(Y)).predict(jnp.asarray(X["kind"]))
        with pytest.raises(ValueError, match="promotion"):
            jnp.ones(2) + jnp.ones(2, int)
