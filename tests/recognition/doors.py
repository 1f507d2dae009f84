"""What can be asked of a model with its rows: a function of both, and of a folder, by name."""

from collections.abc import Callable
from typing import Any

import jax
import numpy as np
from matplotlib.figure import Figure

import bayesnb as nb
from tests.recognition.pairs import ROWS, WEIGHTS, K, Y
from tests.served import served

KEY = jax.random.key(3)
FOLDS = {"folds": 4}
UNLABELLED = np.where(np.arange(ROWS) % 3, Y, -1)
SOFT = np.stack([0.8 - 0.6 * Y, 0.2 + 0.6 * Y], axis=1)
DRAWN = np.random.default_rng(0).multinomial(ROWS, np.full(ROWS, 1 / ROWS), size=6)
BOTH = np.stack([Y, 1 - Y], axis=1)


def each(change, X):
    return jax.tree.map(change, X)


def holes(X):
    """Every fifth row misses cells: all of those blocks that hold a single number a row, else the first."""

    def change(x):
        x = np.array(x, float)
        x.reshape(ROWS, -1)[::5, 0] = np.nan
        return x

    return each(change, X)


def of(fit, X):
    """Parameters by the model's own sites, and predictions."""
    params = fit.model.own_params(fit.params) if hasattr(fit, "params") else {}
    return params, fit.predict_proba(X), fit.log_joint(X), fit.log_density(X)


def merged(fit):
    def door(model, X, _):
        halves = [slice(0, 15), slice(15, ROWS)]
        parts = [nb.sufficient_statistics(model, each(lambda x, h=h: x[h], X), Y[h], num_classes=K) for h in halves]
        return of(fit(model, statistics=nb.merge(*parts)), X)

    return door


def streamed(fit):
    def door(model, X, _):
        blocks = (
            (each(lambda x, n=n: x[n : n + 10], X), Y[n : n + 10], WEIGHTS[n : n + 10]) for n in range(0, ROWS, 10)
        )
        return of(fit(model, statistics=nb.stream(model, blocks, num_classes=K, progress_bar=False)), X)

    return door


def saved(fit):
    def door(model, X, folder):
        nb.save(fit(model, X, Y), folder / "fit.nb")
        return of(nb.load(folder / "fit.nb"), X)

    return door


def exported(fit):
    def door(model, X, _):
        fitted, blocks = fit(model, X, Y), model.by_block(X)  # it has blocks alone
        return served(lambda rows: fitted.predict_log_proba(model.own_rows(rows)), blocks)(blocks)

    return door


def explained(fit):
    def door(model, X, _):
        found = nb.explain(fit(model, X, Y), X)
        return found.prior, found.contributions, found.values

    return door


def strongest(fit):
    def door(model, X, _):
        return [list(feature[1:]) for some in nb.top_features(fit(model, X, Y)).values() for feature in some]

    return door


def curves(fit):
    def door(model, X, _):
        ax, found = Figure().add_subplot(), fit(model, X, Y)
        for block in model.families:
            nb.plots.class_densities(ax, found, 0, block=block, key=KEY, num_draws=1000)
        return [line.get_ydata() for line in ax.lines], [bar.get_height() for bar in ax.patches]

    return door


def in_arviz(model, X, _):
    data = nb.to_arviz(nb.fit_posterior(model, X, Y), key=KEY, num_samples=1000, num_chains=2, X=X, y=Y)
    return model.own_params(
        {name: np.concatenate(np.asarray(draws)) for name, draws in data.posterior.data_vars.items()}
    )


def generated(model, X, _):
    rows, y = nb.fit_posterior(model, X, Y).generate(key=KEY, num_rows=2000)
    return model.by_block(rows), y


Door = Callable[[nb.NaiveBayes, Any, Any], Any]

WITHOUT_PRIOR: dict[str, Door] = {
    "fit_mle": lambda m, X, _: of(nb.fit_mle(m, X, Y), X),
    "weights": lambda m, X, _: of(nb.fit_mle(m, X, Y, sample_weight=WEIGHTS), X),
    "soft labels": lambda m, X, _: of(nb.fit_mle(m, X, SOFT), X),
    "missing cells": lambda m, X, _: of(nb.fit_mle(m, holes(X), Y), holes(X)),
    "cross_validate": lambda m, X, _: nb.cross_validate(m, X, Y, **FOLDS, fit=nb.fit_mle),
    "merge": merged(nb.fit_mle),
    "stream": streamed(nb.fit_mle),
    "save": saved(nb.fit_mle),
    "explain": explained(nb.fit_mle),
    "top_features": strongest(nb.fit_mle),
    "num_parameters": lambda m, X, _: nb.num_parameters(m, X, Y).total,
    "replicates": lambda m, X, _: jax.vmap(lambda w: of(nb.fit_mle(m, X, Y, sample_weight=w), X))(DRAWN),
    "fit_multilabel": lambda m, X, _: nb.fit_multilabel(m, X, BOTH, fit=nb.fit_mle).predict_proba(X),
    "fit_em": lambda m, X, _: nb.fit_em(m, X, UNLABELLED, fit=nb.fit_mle, tolerance=1e-14).predict_proba(X),
    "export": exported(nb.fit_mle),
    "class_densities": curves(nb.fit_mle),
}

CONJUGATE: dict[str, Door] = {
    "fit_posterior": lambda m, X, _: (*of(exact := nb.fit_posterior(m, X, Y), X), exact.log_evidence),
    "fit_map": lambda m, X, _: of(nb.fit_map(m, X, Y), X),
    "weights and missing cells": lambda m, X, _: of(nb.fit_posterior(m, holes(X), Y, sample_weight=WEIGHTS), holes(X)),
    "cross_validate": lambda m, X, _: nb.cross_validate(m, X, Y, **FOLDS),
    "cross_validate by MAP": lambda m, X, _: nb.cross_validate([m, m], X, Y, **FOLDS, fit=nb.fit_map),
    "evidence_table": lambda m, X, _: nb.fit_posterior(m, X, Y).evidence_table().total,
    "fit_empirical": lambda m, X, _: of(nb.fit_empirical(m, X, Y), X),
    "fit_averaged": lambda m, X, _: nb.fit_averaged(m, X, Y).predict_proba(X),
    "feature_inclusion": lambda m, X, _: nb.feature_inclusion(m, X, Y).probability,
    "leave_one_out": lambda m, X, _: nb.leave_one_out(m, X, Y, joint=True),
    "temper": lambda m, X, _: nb.temper(nb.fit_posterior(m, X, Y), X, Y, per_feature=True).predict_proba(X),
    "fit_em": lambda m, X, _: of(nb.fit_em(m, X, UNLABELLED), X),
    "merge": merged(nb.fit_posterior),
    "stream": streamed(nb.fit_posterior),
    "save": saved(nb.fit_posterior),
    "explain": explained(nb.fit_posterior),
    "top_features": strongest(nb.fit_posterior),
    "with_class_probs": lambda m, X, _: of(nb.fit_posterior(m, X, Y).with_class_probs([0.5, 0.5]), X),
    "the next prior": lambda m, X, _: of(nb.fit_posterior(nb.fit_posterior(m, X, Y).model, X, Y), X),
    "compare_evidence": lambda m, X, _: nb.compare_evidence({"one": m, "other": m}, X, Y).log_evidence,
    "export": exported(nb.fit_posterior),
}

AT_RANDOM: dict[str, Door] = {
    "sample": lambda m, X, _: m.own_params(nb.fit_posterior(m, X, Y).sample(KEY, 1000)),
    "generate": generated,
    "to_arviz": in_arviz,
}
"""Doors that give draws [S, ...] or rows: the two models draw other ones, from the same distribution."""

ABOUT: dict[str, Door] = {
    "class_densities": curves(nb.fit_posterior),
    "predict_interval": lambda m, X, _: nb.fit_posterior(m, X, Y).predict_interval(X, key=KEY, num_draws=8000),
}
"""Doors that give what follows from draws."""

REFUSED = r"from model\.rows\(\.\.\.\) of the recognised model, got"
"""What every door says to rows that a program does not observe."""
