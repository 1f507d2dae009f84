"""A recognised model answers at every door as the plain model that was composed by hand, or refuses in a sentence."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest
from matplotlib.figure import Figure
from numpy.testing import assert_allclose
from numpyro.distributions.transforms import PowerTransform

import bayesnb as nb

RANDOM = np.random.default_rng(0)
ROWS, K = 40, 2
Y = RANDOM.integers(0, K, ROWS)
WEIGHTS = RANDOM.integers(1, 4, ROWS).astype(float)
FLAGS = (RANDOM.random((ROWS, 4)) < 0.3 + 0.3 * Y[:, None]).astype(int)
REALS = RANDOM.normal(size=(ROWS, 3)) + Y[:, None]
COUNTS = RANDOM.poisson(2.0 + Y)
A = np.array([2.0, 3.0, 2.5, 1.5])
PI = np.array([2.0, 3.0])


def words(flags, label=None):
    """One block: features first, flipped, and classes in the other order."""
    pi = numpyro.sample("pi", dist.Dirichlet(PI[::-1]))
    absent = numpyro.sample("absent", dist.Beta(2.0, A[:, None]).expand([4, K]).to_event(2))
    with numpyro.plate("mails", flags.shape[0]):
        spam = numpyro.sample("spam", dist.Categorical(pi[::-1]), obs=label)
        numpyro.sample("words", dist.Bernoulli(1.0 - absent[::-1, ::-1].T[spam][:, ::-1]).to_event(1), obs=flags)


def visits(flags, reals, counts, label=None):
    """Three blocks; the counts are one number a row."""
    pi = numpyro.sample("pi", dist.Dirichlet(PI))
    with numpyro.plate("flag", 4, dim=-2), numpyro.plate("class", K, dim=-1):
        present = numpyro.sample("present", dist.Beta(A[:, None], 2.0))
    with numpyro.plate("column", 3, dim=-2), numpyro.plate("class", K, dim=-1):
        variance = numpyro.sample("variance", dist.InverseGamma(2.0, 3.0))
        mean = numpyro.sample("mean", dist.Normal(1.0, jnp.sqrt(variance / 0.5)))
    rate = numpyro.sample("rate", dist.Gamma(2.0, 1.0).expand([K]).to_event(1))
    with numpyro.plate("rows", flags.shape[0]):
        y = numpyro.sample("y", dist.Categorical(pi), obs=label)
        numpyro.sample("flags", dist.Bernoulli(present.T[y]).to_event(1), obs=flags)
        numpyro.sample("reals", dist.Normal(mean.T[y], jnp.sqrt(variance.T[y])).to_event(1), obs=reals)
        numpyro.sample("counts", dist.Poisson(rate[y]), obs=counts)


def scales(reals, label=None):
    """Priors of its own: there is no closed form."""
    pi = numpyro.sample("pi", dist.Dirichlet(PI))
    with numpyro.plate("column", 3, dim=-2), numpyro.plate("class", K, dim=-1):
        scale = numpyro.sample("scale", dist.LogNormal(0.0, 1.0))
        mean = numpyro.sample("mean", dist.Normal(0.0, 3.0))
    with numpyro.plate("rows", reals.shape[0]):
        y = numpyro.sample("y", dist.Categorical(pi), obs=label)
        numpyro.sample("reals", dist.Normal(mean.T[y], scale.T[y]).to_event(1), obs=reals)


def logs(reals, flags, label=None):
    """Rows that are no argument: logs of some numbers, the others left out, and the other flags."""
    pi = numpyro.sample("pi", dist.Dirichlet(PI))
    with numpyro.plate("column", 3, dim=-2), numpyro.plate("class", K, dim=-1):
        variance = numpyro.sample("variance", dist.InverseGamma(2.0, 3.0))
        mean = numpyro.sample("mean", dist.Normal(1.0, jnp.sqrt(variance / 0.5)))
    with numpyro.plate("flag", 4, dim=-2), numpyro.plate("class", K, dim=-1):
        absent = numpyro.sample("absent", dist.Beta(A[:, None], 2.0))
    with numpyro.plate("rows", flags.shape[0]):
        y = numpyro.sample("y", dist.Categorical(pi), obs=label)
        law = dist.Normal(mean.T[y], jnp.sqrt(variance.T[y])).mask(reals < SOME)
        numpyro.sample("logs", law.to_event(1), obs=jnp.log(reals))
        numpyro.sample("others", dist.Bernoulli(absent.T[y]).to_event(1), obs=1 - flags[:, ::-1])


class Pair(NamedTuple):
    """A recognised model with its rows, the model composed by hand with its own, and the rows as one array."""

    ours: nb.NaiveBayes
    X: Any
    plain: nb.NaiveBayes
    X_plain: Any
    side_by_side: Any


POSITIVE, SOME = np.exp(REALS), 8.0
LOGS = {"logs": np.where(POSITIVE < SOME, REALS, np.nan), "others": 1 - FLAGS[:, ::-1]}
BLOCKS = {"flags": FLAGS, "reals": REALS, "counts": COUNTS}
BLOCKS_PLAIN = BLOCKS | {"counts": COUNTS[:, None]}
PLAIN = {
    "words": nb.NaiveBayes(nb.Bernoulli(A, 2.0), class_concentration=PI),
    "visits": nb.NaiveBayes(
        {"flags": nb.Bernoulli(A, 2.0), "reals": nb.Normal(1.0, 0.5, 2.0, 3.0), "counts": nb.Poisson(2.0, 1.0)},
        class_concentration=PI,
    ),
    "logs": nb.NaiveBayes(
        {"logs": nb.Normal(1.0, 0.5, 2.0, 3.0), "others": nb.Bernoulli(A, 2.0)}, class_concentration=PI
    ),
    "scales": nb.NaiveBayes(
        nb.Normal(),
        class_concentration=PI,
        priors={
            "x_variance": dist.TransformedDistribution(dist.LogNormal(0.0, 1.0), PowerTransform(2.0)),
            "x_loc": dist.Normal(0.0, 3.0),
        },
    ),
}


@pytest.fixture(scope="module")
def pairs():
    """By name."""
    with jax.numpy_rank_promotion("allow"):
        ours = {
            "words": nb.from_numpyro(words, (FLAGS, Y), label="spam"),
            "visits": nb.from_numpyro(visits, (*BLOCKS.values(), Y), label="y"),
            "scales": nb.from_numpyro(scales, (REALS, Y), label="y"),
            "logs": nb.from_numpyro(logs, (POSITIVE, FLAGS, Y), label="y"),
        }
    wide = np.hstack(list(BLOCKS_PLAIN.values()))
    return {
        "words": Pair(ours["words"], FLAGS, PLAIN["words"], FLAGS, FLAGS),
        "visits": Pair(ours["visits"], BLOCKS, PLAIN["visits"], BLOCKS_PLAIN, wide),
        "scales": Pair(ours["scales"], REALS, PLAIN["scales"], REALS, REALS),
        "logs": Pair(ours["logs"], ours["logs"].rows(POSITIVE, FLAGS, Y), PLAIN["logs"], LOGS, None),
    }


KEY = jax.random.key(3)
FOLDS = {"folds": 4}
UNLABELLED = np.where(np.arange(ROWS) % 3, Y, -1)
SOFT = np.stack([0.8 - 0.6 * Y, 0.2 + 0.6 * Y], axis=1)
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
    def door(model, X, folder):
        nb.export(fit(model, X, Y), folder / "fit.nbx", platforms=["cpu"])
        return nb.load_exported(folder / "fit.nbx").predict_log_proba(model.by_block(X))  # it has blocks alone

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
    "bootstrap": lambda m, X, _: nb.bootstrap(m, X, Y, key=KEY, replicates=6).predict_interval(X),
    "fit_multilabel": lambda m, X, _: nb.fit_multilabel(m, X, BOTH, fit=nb.fit_mle).predict_proba(X),
    "fit_em": lambda m, X, _: nb.fit_em(m, X, UNLABELLED, fit=nb.fit_mle, tolerance=1e-14).predict_proba(X),
    "export": exported(nb.fit_mle),
    "class_densities": curves(nb.fit_mle),
    "quadratic_form": lambda m, X, _: nb.quadratic_form(nb.fit_mle(m, X, Y)),
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
    "predict_interval": lambda m, X, _: nb.fit_posterior(m, X, Y).predict_interval(X, key=KEY, num_draws=1000),
}
"""Doors that give what follows from draws."""

LONG = ("export", "class_densities", "to_arviz", "fit_empirical", "fit_em", "stream", "predict_interval", "bootstrap")
"""Doors that compile for a second or more."""

SHORT = ("fit_mle", "fit_map", "fit_posterior", "cross_validate", "cross_validate by MAP", "merge", "explain")
"""Doors that more than one model goes through by default."""


def through(*tables, models, refused=False):
    """A parametrization over doors and models; what is ``refused`` takes no time."""
    params = []
    for name, door in (item for table in tables for item in table.items()):
        for model in models:
            quick = refused or name in SHORT or (model == models[0] and name not in LONG)
            params.append(pytest.param(door, model, id=f"{name}-{model}", marks=() if quick else pytest.mark.slow))
    return pytest.mark.parametrize(("door", "model"), params)


def both(door, pair, folder):
    """The answers of the recognised model and of the plain one, leaf by leaf."""
    found = (door(m, X, folder) for m, X in ((pair.ours, pair.X), (pair.plain, pair.X_plain)))
    leaves = [[np.asarray(leaf, float) for leaf in jax.tree.leaves(one)] for one in found]
    assert leaves[0]
    return zip(*leaves, strict=True)


@through(WITHOUT_PRIOR, models=("words", "visits", "scales", "logs"))
def test_what_uses_no_prior_is_the_same(door, model, pairs, tmp_path):
    for ours, plain in both(door, pairs[model], tmp_path):
        assert_allclose(ours, plain, rtol=1e-5, atol=1e-6)


@through(CONJUGATE, models=("words", "visits", "logs"))
def test_what_is_exact_is_the_same(door, model, pairs, tmp_path):
    for ours, plain in both(door, pairs[model], tmp_path):
        assert_allclose(ours, plain, rtol=1e-5, atol=1e-6)


@through(AT_RANDOM, models=("words", "visits", "logs"))
def test_draws_have_the_same_mean(door, model, pairs, tmp_path):
    for ours, plain in both(door, pairs[model], tmp_path):
        error = np.sqrt((ours.var(axis=0) + plain.var(axis=0)) / len(ours))
        assert (np.abs(ours.mean(axis=0) - plain.mean(axis=0)) < 5.0 * error).all()


@through(ABOUT, models=("words", "visits"))
def test_what_follows_from_draws_is_about_the_same(door, model, pairs, tmp_path):
    for ours, plain in both(door, pairs[model], tmp_path):
        assert_allclose(ours, plain, rtol=0.1, atol=0.03)


@through(CONJUGATE, AT_RANDOM, ABOUT, models=("scales",), refused=True)
def test_without_conjugacy_every_other_door_refuses_by_the_programs_sites(door, model, pairs, tmp_path):
    with pytest.raises(ValueError, match="non-conjugate priors for scale, mean, so there is no closed form"):
        door(pairs[model].ours, pairs[model].X, tmp_path)


REFUSED = r"from model\.rows\(\.\.\.\) of the recognised model, got"


@through(WITHOUT_PRIOR, CONJUGATE, {"to_arviz": in_arviz}, ABOUT, models=("logs",), refused=True)
def test_rows_that_the_program_does_not_observe_are_refused_at_every_door(door, model, pairs, tmp_path):
    with pytest.raises(ValueError, match=REFUSED):
        door(pairs[model].ours, LOGS, tmp_path)


OF_FITS: dict[str, Callable[[Any, Any], Any]] = {
    "predict": lambda fit, X: fit.predict(X),
    "predict_proba": lambda fit, X: fit.predict_proba(X),
    "predict_log_proba": lambda fit, X: fit.predict_log_proba(X),
    "log_joint": lambda fit, X: fit.log_joint(X),
    "log_density": lambda fit, X: fit.log_density(X),
    "predict_interval": lambda fit, X: fit.predict_interval(X, key=KEY, num_draws=4),
    "contribution_interval": lambda fit, X: fit.contribution_interval(X, key=KEY, num_draws=4),
    "explain": lambda fit, X: nb.explain(fit, X),
    "temper": lambda fit, X: nb.temper(fit, X, Y),
    "leave_one_out": lambda fit, X: nb.leave_one_out(fit.prior, X, Y),
    "to_arviz": lambda fit, X: nb.to_arviz(fit, key=KEY, num_samples=4, num_chains=1, X=X, y=Y),
    "the program of the model": lambda fit, X: fit.prior(X, Y),
    "sufficient_statistics": lambda fit, X: nb.sufficient_statistics(fit.prior, X, Y),
    "dependence": lambda fit, X: nb.dependence(X, Y, model=fit.model),
    "fit_nuts": lambda fit, X: nb.fit_nuts(fit.prior, X, Y, key=KEY),
    "fit_forests": lambda fit, X: nb.fit_forests(fit.prior, X, Y),
    "num_parameters": lambda fit, X: nb.num_parameters(fit.model, X, Y),
}


@pytest.mark.parametrize("name", OF_FITS)
@pytest.mark.parametrize("rows", ["numpy", "JAX"])
def test_fits_refuse_them_too(name, rows, pairs):
    fit = nb.fit_posterior(pairs["logs"].ours, pairs["logs"].X, Y)
    with pytest.raises(ValueError, match=REFUSED):
        OF_FITS[name](fit, LOGS if rows == "numpy" else jax.tree.map(jnp.asarray, LOGS))


def test_pairs_of_columns(pairs):
    for model in ("words", "scales"):
        pair = pairs[model]
        ours, plain = (nb.dependence(pair.X, Y, model=m).mutual_information for m in (pair.ours, pair.plain))
        assert_allclose(ours, plain, rtol=1e-6)
    with pytest.raises(ValueError, match="block 'counts' is Poisson: pairs have a closed form"):
        nb.dependence(BLOCKS, Y, model=pairs["visits"].ours)


def means(model, X, site):
    ax = Figure().add_subplot()
    nb.plots.forest(ax, nb.fit_map(model, X, Y), site)
    return [tick.get_text() for tick in ax.get_yticklabels()], [line.get_xdata() for line in ax.lines]


def test_forests_have_a_line_for_each_column_or_class(pairs):
    ours, X, plain, X_plain, _ = pairs["visits"]
    sites = {"pi": "class_probs", "present": "flags_probs", "mean": "reals_loc", "rate": "counts_rate"}
    for site, own in sites.items():
        (names, found), (plain_names, expected) = means(ours, X, site), means(plain, X_plain, own)
        assert names == plain_names
        for one, other in zip(found, expected, strict=True):
            assert_allclose(one, other, rtol=1e-6)
    with pytest.raises(ValueError, match="site is one of mean, pi, present, rate, variance, got 'reals_loc'"):
        means(ours, X, "reals_loc")


@pytest.mark.slow
def test_a_forest_of_a_site_that_holds_a_part_of_a_parameter():
    def program(flags, label=None):
        first = numpyro.sample("first", dist.Beta(2.0, 2.0).expand([4]).to_event(1))
        second = numpyro.sample("second", dist.Beta(2.0, 2.0).expand([4]).to_event(1))
        p = numpyro.sample("p", dist.Beta(2.0, 2.0))
        with numpyro.plate("rows", len(flags)):
            y = numpyro.sample("y", dist.Bernoulli(p), obs=label)
            numpyro.sample("flags", dist.Bernoulli(jnp.stack([first, second])[y]).to_event(1), obs=flags)

    model = nb.from_numpyro(program, (FLAGS, Y), label="y")
    names, lines = means(model, FLAGS, "second")
    assert names == ["x[0]", "x[1]", "x[2]", "x[3]"]
    assert_allclose(lines[0], nb.fit_map(model, FLAGS, Y).params["second"])
    names, lines = means(model, FLAGS, "p")
    assert names == ["1"]
    assert_allclose(lines[0], nb.fit_map(model, FLAGS, Y).params["p"])


def test_forms(pairs):
    pair = pairs["words"]
    forms = [nb.linear_form(nb.fit_posterior(m, X, Y)) for m, X in ((pair.ours, pair.X), (pair.plain, pair.X_plain))]
    for ours, plain in zip(*map(jax.tree.leaves, forms), strict=True):
        assert_allclose(ours, plain, rtol=1e-6)


@pytest.mark.parametrize("method", ["posterior", *(pytest.param(m, marks=pytest.mark.slow) for m in ("map", "mle"))])
@pytest.mark.parametrize("model", ["words", "visits", "scales"])
def test_the_estimator(model, method, pairs):
    pair, fits = pairs[model], {"posterior": nb.fit_posterior, "map": nb.fit_map, "mle": nb.fit_mle}
    estimator = nb.NaiveBayesClassifier(likelihoods=pair.ours, method=method)
    names = np.array(["no", "yes"])[Y]
    if model == "scales" and method != "mle":
        with pytest.raises(ValueError, match="non-conjugate priors for scale, mean"):
            estimator.fit(pair.side_by_side, names)
        return
    proba = estimator.fit(pair.side_by_side, names, sample_weight=WEIGHTS).predict_proba(pair.side_by_side)
    plain = fits[method](pair.plain, pair.X_plain, Y, sample_weight=WEIGHTS)
    assert_allclose(proba, plain.predict_proba(pair.X_plain), rtol=1e-5)
    assert set(estimator.predict(pair.side_by_side)) <= {"no", "yes"}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:do not trust these draws yet")
@pytest.mark.parametrize("model", ["words", "visits", "scales"])
def test_nuts(model, pairs):
    pair, size = pairs[model], {"num_samples": 500, "num_warmup": 500, "num_chains": 2, "progress_bar": False}
    draws = [nb.fit_nuts(m, X, Y, key=KEY, **size) for m, X in ((pair.ours, pair.X), (pair.plain, pair.X_plain))]
    assert set(draws[0].params) == set(pair.ours.sites())
    own = pair.ours.own_params(draws[0].params)
    for site, plain in draws[1].params.items():
        # about a quarter of the draws are independent
        error = np.sqrt((own[site].var(axis=0) + plain.var(axis=0)) / 250)
        assert (np.abs(own[site].mean(axis=0) - plain.mean(axis=0)) < 5.0 * error).all(), site
    assert_allclose(draws[0].predict_proba(pair.X), draws[1].predict_proba(pair.X_plain), atol=0.05)
