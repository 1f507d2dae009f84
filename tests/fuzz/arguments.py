"""Calls with one or two arguments that are not what was asked for: each is answered, or refused in a sentence."""

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import jax
import numpy as np
from hypothesis import strategies as st

import bayesnb as nb

N, K = 8, 3
X = {
    "kind": np.arange(2 * N).reshape(N, 2) % 3,
    "size": np.random.default_rng(0).normal(size=(N, 2)),
}
Y = np.arange(N) % K
FAMILIES = {"kind": nb.Categorical(3), "size": nb.Normal()}
MODEL = nb.NaiveBayes(FAMILIES, num_classes=K)

ODD: list[Any] = [
    None, True, -1, 0, 1, 2, 2.5, -0.5, 1e308, np.nan, np.inf, 10**4, 10**12, "text", "", b"bytes", [], (), {}, set(),
    [1, 2], [[1.0], [2.0]], [[1.0], [2.0, 3.0]], ["a", "b"], [1, "a", None], {"x": 1}, {"kind": X["kind"]},
    {"kind": X["kind"], "size": "text"}, {**X, "more": X["size"]}, {**X, "size": X["size"][:3]},
    {**X, "size": X["size"][:, 0]}, np.zeros((0, 2)), np.zeros(0), np.zeros((N, 2, 2)), np.array(1.0), np.array("text"),
    np.array([None] * N), np.array(["a"] * N), Y - 1, Y + 10, Y * 0.5, np.full(N, np.nan), np.full(N, -1.0), np.eye(N),
    np.eye(K)[Y], np.eye(K)[Y] * 2, np.zeros(N, complex), np.array(["2020-01-01"] * N, "M8[D]"),
    np.ma.masked_array(Y, Y == 1), object(), range(N), print, int, nb.Normal(), MODEL, FAMILIES,
    np.random.default_rng(0),
]  # fmt: skip
"""What somebody might give in the place of anything."""

NOT_A_FLAG: list[Any] = [None, True, False, 0, 1, -1, 2.5, "text", "per_feature", [], {}]
FLAGS = ("joint", "per_feature", "temper")
"""Arguments that are asked whether they are true: of an array Python itself says that this cannot be asked."""


class Call(NamedTuple):
    """A function and arguments that it takes."""

    function: Callable[..., Any]
    arguments: dict[str, Any]


@cache
def calls() -> dict[str, Call]:
    """The public functions, by name; what they need is fitted once."""
    posterior, estimate = nb.fit_posterior(MODEL, X, Y), nb.fit_map(MODEL, X, Y)
    statistics = nb.sufficient_statistics(MODEL, X, Y)
    rows, key = {"X": X, "y": Y, "sample_weight": np.ones(N)}, jax.random.key(0)
    fitted = {"model": MODEL, **rows}
    two = {"a": 1.0, "b": 1.0}
    return {
        "Bernoulli": Call(nb.Bernoulli, two),
        "Binomial": Call(nb.Binomial, {"total_count": 3, **two}),
        "Categorical": Call(nb.Categorical, {"num_categories": 3, "concentration": 1.0}),
        "Multinomial": Call(nb.Multinomial, {"concentration": 1.0}),
        "Poisson": Call(nb.Poisson, {"shape": 1.0, "rate": 1.0}),
        "Normal": Call(nb.Normal, {"loc": 0.0, "strength": 1.0, "shape": 1.0, "rate": 1.0, "variance": "own"}),
        "MultivariateNormal": Call(
            nb.MultivariateNormal,
            {"covariance": "full", "smoothing": 0.0, "loc": 0.0, "strength": 1.0, "df": 4.0, "scale": np.eye(2)},
        ),
        "NaiveBayes": Call(
            nb.NaiveBayes,
            {"likelihoods": FAMILIES, "class_concentration": 1.0, "class_probs": None, "num_classes": K,
             "priors": None},
        ),
        "resolve": Call(MODEL.resolve, {**rows, "statistics": None}),
        "sufficient_statistics": Call(nb.sufficient_statistics, {**fitted, "num_classes": K}),
        "merge": Call(
            lambda a, b, axis: nb.merge(a, b, axis=axis), {"a": statistics, "b": statistics, "axis": None}
        ),
        "fit_posterior": Call(nb.fit_posterior, {**fitted, "statistics": None}),
        "fit_map": Call(nb.fit_map, {**fitted, "statistics": None}),
        "fit_mle": Call(nb.fit_mle, {**fitted, "statistics": None}),
        "statistics": Call(nb.fit_posterior, {"model": MODEL, "statistics": statistics}),
        "PointEstimate": Call(nb.PointEstimate, {"model": MODEL, "params": estimate.params}),
        "class_probs": Call(posterior.with_class_probs, {"class_probs": np.full(K, 1 / K)}),
        "predict_proba": Call(posterior.predict_proba, {"X": X}),
        "predict": Call(estimate.predict, {"X": X}),
        "log_joint": Call(estimate.log_joint, {"X": X}),
        "sample": Call(posterior.sample, {"key": key, "num_samples": 4}),
        "generate": Call(posterior.generate, {"key": key, "num_rows": 4, "num_datasets": None, "total_count": None}),
        "predict_interval": Call(posterior.predict_interval, {"X": X, "level": 0.9, "key": key, "num_draws": 16}),
        "contribution_interval": Call(
            posterior.contribution_interval, {"X": X, "level": 0.9, "key": key, "num_draws": 16, "against": 0}
        ),
        "leave_one_out": Call(nb.leave_one_out, {**fitted, "joint": False}),
        "cross_validate": Call(nb.cross_validate, {**fitted, "folds": 3, "fit": nb.fit_posterior}),
        "temper": Call(nb.temper, {"posterior": posterior, "X": X, "y": Y, "per_feature": False}),
        "feature_inclusion": Call(nb.feature_inclusion, {**fitted, "prior": 0.5}),
        "dependence": Call(nb.dependence, {"X": X["kind"], "y": Y, "sample_weight": None}),
        "explain": Call(nb.explain, {"fit": posterior, "X": X, "against": 0, "class_names": None}),
        "top_features": Call(nb.top_features, {"fit": estimate}),
        "num_parameters": Call(nb.num_parameters, {"model": posterior.model}),
        "linear_form": Call(nb.linear_form, {"fit": estimate}),
        "save": Call(lambda fit: nb.save(fit, "/nowhere/fit"), {"fit": posterior}),
        "estimator": Call(_estimator, {"likelihoods": "normal", "method": "posterior", "class_prior": None,
                                       "smoothing": 1.0, "temper": False, "random_state": 0, "X": X["size"], "y": Y,
                                       "sample_weight": None}),
    }  # fmt: skip


def _estimator(X: Any, y: Any, sample_weight: Any, **parameters: Any) -> Any:
    return nb.NaiveBayesClassifier(**parameters).fit(X, y, sample_weight).predict_proba(X)


@st.composite
def odd_calls(draw: st.DrawFn) -> tuple[str, dict[str, Any]]:
    """The name of a call, and its arguments with one or two odd ones."""
    name = draw(st.sampled_from(sorted(calls())))
    arguments = dict(calls()[name].arguments)
    for _ in range(draw(st.integers(1, 2))):
        argument = draw(st.sampled_from(sorted(arguments)))
        odd = NOT_A_FLAG if argument in FLAGS else ODD
        arguments[argument] = odd[draw(st.integers(0, len(odd) - 1))]
    return name, arguments
