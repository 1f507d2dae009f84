"""Bayes factors of models of the same rows, against evidences by scipy; fits of different rows are refused."""

import dataclasses
from functools import cache
from itertools import combinations_with_replacement

import numpy as np
import numpyro.distributions as dist
import pytest
from numpy.testing import assert_allclose
from scipy.special import betaln, gammaln, softmax, xlogy

import bayesnb as nb
from bayesnb.core.rows._labelled_rows import prepare
from bayesnb.inspection._compare_evidence import compare_evidence

RNG = np.random.default_rng(0)
Y = RNG.integers(0, 2, 40)
FLAGS = (RNG.random((40, 2)) < 0.2 + 0.6 * Y[:, None]).astype(int)
X = RNG.normal(size=(40, 2)) * (1 + 2 * Y[:, None])


@cache
def normal(variance="own"):
    return nb.fit_posterior(nb.NaiveBayes(nb.Normal(variance=variance)), X, Y)


def beside(X, y, family=None):
    """A fit of the normal model, and one of these rows."""
    return {"a": normal(), "b": nb.fit_posterior(nb.NaiveBayes(family or nb.Normal()), X, y)}


def beta_bernoulli(a):
    """log p(X, y) under Beta(a, a) and a uniform prior of two classes, by betaln."""
    ones = np.array([FLAGS[k == Y].sum(axis=0) for k in (0, 1)])
    count = np.bincount(Y)
    features = betaln(a + ones, a + count[:, None] - ones) - betaln(a, a)
    return features.sum() + betaln(1 + count[0], 1 + count[1])


def test_bayes_factors_are_ratios_of_evidences():
    models = {str(a): nb.NaiveBayes(nb.Bernoulli(a, a)) for a in (0.5, 1.0, 20.0)}
    found = compare_evidence(models, FLAGS, Y)
    expected = {name: beta_bernoulli(float(name)) for name in models}
    assert list(found.log_evidence) == sorted(expected, key=expected.get, reverse=True)
    for name, value in expected.items():
        assert_allclose(found.log_evidence[name], value, rtol=1e-12)
    assert_allclose(found.log_bayes_factor("1.0", "20.0"), expected["1.0"] - expected["20.0"], rtol=1e-9)
    names = list(expected)
    assert_allclose([found.probability[n] for n in names], softmax([expected[n] for n in names]), rtol=1e-9)
    assert found.from_data == {}
    assert "pooled" not in repr(found)
    with pytest.raises(ValueError, match=r"there is no model 'mle': expected one of '1.0'"):
        found.log_bayes_factor("mle", "1.0")
    with pytest.raises(dataclasses.FrozenInstanceError):
        found.learned = ()


def test_the_table_says_which_priors_come_from_the_rows():
    given = nb.fit_posterior(nb.NaiveBayes(nb.Normal(0.0, rate=1.0)), X, Y)
    fits = {"own": normal(), "shared": normal("shared"), "given": given}
    found = compare_evidence(fits)
    assert found.from_data == {"own": ("loc", "rate"), "shared": ("loc", "rate")}
    expected = normal().log_evidence - normal("shared").log_evidence
    assert_allclose(found.log_bayes_factor("own", "shared"), expected, rtol=1e-12)
    lines = repr(found).splitlines()
    assert [line.split()[0] for line in lines[1:4]] == list(found.log_evidence)
    assert "own: loc and rate of its prior come from the pooled rows." in lines
    assert "given: " not in repr(found)
    assert lines[-1] == "prior that is given as numbers its evidence is a little too large."
    both = nb.fit_posterior(nb.NaiveBayes({"a": nb.Normal(), "b": nb.Bernoulli()}), {"a": X, "b": FLAGS}, Y)
    assert compare_evidence({"both": both}).from_data == {"both": ("a.loc", "a.rate")}


def test_given_numbers_are_not_from_the_rows_whatever_their_unit():
    given = nb.fit_posterior(nb.NaiveBayes(nb.Normal(0.0, rate=1e-9)), X * 1e-6, Y)
    assert compare_evidence({"given": given}).from_data == {}


def test_a_classifier_that_is_not_fitted_is_named():
    with pytest.raises(ValueError, match="'new' is a NaiveBayesClassifier that is not fitted: call its fit first"):
        compare_evidence({"new": nb.NaiveBayesClassifier()})


def test_a_classifier_has_the_evidence_of_its_fit():
    clf = nb.NaiveBayesClassifier("bernoulli").fit(FLAGS, Y)
    assert_allclose(compare_evidence({"uniform": clf}).log_evidence["uniform"], beta_bernoulli(1.0), rtol=1e-12)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:the evidence rises beyond")
def test_the_table_says_which_prior_was_learned():
    learned = nb.fit_empirical(nb.NaiveBayes(nb.Bernoulli()), FLAGS, Y)
    found = compare_evidence({"uniform": nb.NaiveBayes(nb.Bernoulli()), "learned": learned}, FLAGS, Y)
    assert found.learned == ("learned",)
    assert "learned: its prior was learned from these rows, which favours it." in repr(found)
    assert found.log_bayes_factor("learned", "uniform") >= 0


@pytest.mark.parametrize(
    ("models", "words"),
    [
        (lambda: beside(X[:-1], Y[:-1]), "'a' and 'b' are fits of different"),
        (lambda: beside(X + 1, Y), "fits of different rows"),
        (lambda: beside(X, 1 - Y), "fits of different rows"),
        (lambda: beside(X[:, :1], Y), "fits of different rows"),
        (lambda: beside(X + 1, Y, nb.MultivariateNormal()), "fits of different rows"),
        (lambda: {"a": nb.fit_mle(nb.NaiveBayes(nb.Normal()), X, Y)}, "'a' is a PointEstimate, which has no evidence"),
        (lambda: {"a": nb.NaiveBayes(nb.Normal())}, "'a' is a model that is not fitted: give its rows, X and y"),
        (lambda: [normal(), normal("shared")], "takes a dict of fits or models by name, got list"),
        (dict, "takes a dict"),
    ],
)
def test_what_cannot_be_compared_is_refused(models, words):
    given = models()
    with pytest.raises(ValueError, match=words):
        compare_evidence(given)


@pytest.mark.slow
def test_likelihoods_of_different_supports_are_densities_of_the_same_rows():
    waits = np.random.default_rng(5).gamma(2.0, 1.0 + Y[:, None], (40, 1))
    models = {d.__name__: nb.NaiveBayes(nb.Likelihood(d)) for d in (dist.Gamma, dist.Normal, dist.StudentT)}
    models["bayesnb.Normal"] = nb.NaiveBayes(nb.Normal())
    found = compare_evidence(models, waits, Y)
    assert next(iter(found.log_evidence)) == "Gamma"
    fit = lambda name, rows: nb.fit_posterior(models[name], rows, Y)  # noqa: E731
    with pytest.raises(ValueError, match="fits of different rows"):
        compare_evidence({"a": fit("Gamma", waits), "b": fit("Gamma", waits[::-1])})
    gaps = np.where(np.arange(40)[:, None] < 3, np.nan, waits)
    for name in ("Normal", "bayesnb.Normal"):
        with pytest.raises(ValueError, match="fits of different rows"):
            compare_evidence({"a": fit("Gamma", waits), "b": fit(name, gaps)})
    counts = {"a": nb.NaiveBayes(nb.Likelihood(dist.Poisson)), "b": models["Gamma"]}
    with pytest.raises(ValueError, match=r"a density, in the unit of their column.*give precision"):
        compare_evidence(counts, np.ceil(waits), Y)


# measures: found edges have seen the rows, densities have a unit

EDGES = np.linspace(-3.0, 5.0, 9)
REAL = RNG.normal(1.5 * Y[:, None], 1.0, (40, 2))
OTHER = RNG.normal(1.5 * Y[:, None], 1.0, (40, 2))
NORMAL = nb.NaiveBayes(nb.Normal())
FOUND = nb.NaiveBayes(nb.Histogram(cells=8))


def histogram(edges=EDGES, **given):
    return nb.NaiveBayes(nb.Histogram(edges=edges, **given))


def saved(X, folder):
    nb.save(nb.fit_posterior(FOUND, X, Y), folder / "fit.bayesnb")
    return nb.load(folder / "fit.bayesnb")


@pytest.mark.parametrize(
    "make",
    [
        lambda _: FOUND,
        lambda _: nb.NaiveBayes(nb.Views(nb.Normal(), nb.NormalScores(), nb.Histogram(cells=8))),
        lambda _: FOUND.resolve(REAL, Y),
        lambda _: nb.fit_posterior(FOUND, REAL, Y),
        lambda _: nb.fit_posterior(FOUND, statistics=nb.sufficient_statistics(FOUND, REAL, Y)),
        lambda _: nb.fit_forests(FOUND, REAL, Y),
        lambda _: nb.NaiveBayesClassifier().fit(REAL, Y),
        lambda _: nb.NaiveBayesClassifier("histogram", temper=False).partial_fit(REAL[:20], Y[:20]).partial_fit(
            REAL[20:], Y[20:]
        ),
        lambda folder: saved(REAL, folder),
    ],
    ids=["model", "views", "resolved", "fit", "statistics", "forests", "classifier", "batches", "saved"],
)  # fmt: skip
def test_edges_that_were_found_in_the_rows_compare_with_themselves_only(make, tmp_path):
    given = make(tmp_path)
    others = {"normal": NORMAL, "cells": nb.NaiveBayes(nb.Histogram(cells=4)), "edges": histogram()}
    for name, other in others.items():
        with pytest.raises(ValueError, match=r"edges of the Histogram were found in these very rows .* give edges"):
            compare_evidence({"found": given, name: other}, REAL, Y, precision=0.1)
    assert compare_evidence({"a": given, "b": given}, REAL, Y).log_bayes_factor("a", "b") == 0.0


def test_histograms_with_the_same_edges_compare_as_they_are():
    fits = {str(a): nb.fit_posterior(nb.NaiveBayes(nb.Histogram(cells=8, total=a)), REAL, Y) for a in (1.0, 9.0)}
    fits["views"] = nb.fit_posterior(nb.NaiveBayes(nb.Views(nb.Normal(), nb.Histogram(cells=8, total=1.0))), REAL, Y)
    found = compare_evidence(fits)
    assert found.log_evidence == {name: float(fits[name].log_evidence) for name in found.log_evidence}
    assert found.log_bayes_factor("views", "1.0") == 0.0  # the evidence of views is that of their Histogram


def test_edges_from_other_rows_are_given():
    """With their shares and point masses they are a prior that has not seen these rows; without shares these cost."""
    resolved = FOUND.resolve(OTHER, Y)
    family = resolved.families["x"]
    for given, costs in ((resolved, False), (histogram(family.edges[0]), True)):
        fit = nb.fit_posterior(given, REAL, Y)
        found = compare_evidence({"cells": fit, "normal": NORMAL}, REAL, Y).log_evidence["cells"]
        counts = np.asarray(fit.statistics.blocks["x"].counts).sum(axis=0)
        expected = float(fit.log_evidence) + costs * sum(cost_of_shares(n) for n in counts)
        assert_allclose(found, expected, rtol=1e-9)


def cost_of_shares(n):
    """log B(n + 1/2) / B(1/2), minus the largest log probability of the cells."""
    learned = gammaln(n + 0.5).sum() - len(n) * gammaln(0.5) + gammaln(0.5 * len(n)) - gammaln(n.sum() + 0.5 * len(n))
    return learned - xlogy(n, n / n.sum()).sum()


@pytest.mark.parametrize("precision", [None, [0.1, 0.01]])
@pytest.mark.parametrize(("c", "b"), [(1000.0, 3.0), (1e-3, -40.0), (-2.0, 1.0)])
def test_the_unit_of_a_column_does_not_matter(c, b, precision):
    """With a cell missing; under a precision the evidence itself keeps its value."""
    measured = np.where(np.arange(80).reshape(40, 2) == 7, np.nan, REAL)
    families = {"cells": nb.Histogram(edges=EDGES), "normal": nb.Normal(), "full": nb.Normal(variance="shared")}
    moved = {**families, "cells": nb.Histogram(edges=np.sort(c * EDGES + b))}
    widths = [None if precision is None else abs(u) * np.array(precision) for u in (1.0, c)]
    before, after = (
        compare_evidence({name: nb.NaiveBayes(f) for name, f in given.items()}, rows, Y, precision=width)
        for given, rows, width in ((families, measured, widths[0]), (moved, c * measured + b, widths[1]))
    )
    for name in families:
        assert_allclose(after.log_bayes_factor(name, "full"), before.log_bayes_factor(name, "full"), atol=1e-6)
        if precision is not None:
            assert_allclose(after.log_evidence[name], before.log_evidence[name], atol=1e-6)


def with_points(X):
    """A Histogram with a point mass at each value of X."""
    family = nb.NaiveBayes(nb.Histogram(cells=64)).resolve(X, Y).families["x"]
    return nb.NaiveBayes(nb.Histogram(edges=family.edges, atoms=family.atoms))


def test_point_masses_are_probabilities_and_need_a_precision():
    """A Normal has its density times the precision, at point masses as well; missing cells have none."""
    rounded = np.where(np.arange(80).reshape(40, 2) == 7, np.nan, np.round(REAL))
    models = {"points": with_points(rounded), "normal": NORMAL}
    with pytest.raises(ValueError, match="give precision, the width to which each column is measured, in its unit"):
        compare_evidence(models, rounded, Y)
    found = compare_evidence(models, rounded, Y, precision=[1.0, 0.5]).log_evidence
    fits = {name: nb.fit_posterior(model, rounded, Y) for name, model in models.items()}
    assert_allclose(found["normal"], fits["normal"].log_evidence + 39 * np.log(0.5), rtol=1e-12)
    points, counts = fits["points"].prior.families["x"].atoms[0], fits["points"].statistics.blocks["x"].counts.sum(0)
    alone = (counts * ~np.isfinite(points)).sum(axis=1)  # a value that is seen once is no point mass
    cost = sum(
        cost_of_shares(n[q > 0]) for n, q in zip(counts, fits["points"].prior.families["x"].mass[0], strict=True)
    )
    assert_allclose(found["points"], fits["points"].log_evidence + cost + alone[1] * np.log(0.5), rtol=1e-9)


def test_counts_beside_measurements_need_a_precision():
    counts = RNG.poisson(4.0 + 3.0 * Y[:, None], (40, 2))
    models = {"counts": nb.NaiveBayes(nb.Poisson()), "normal": NORMAL}
    with pytest.raises(ValueError, match="have a density"):
        compare_evidence(models, counts, Y)
    weights = np.where(Y == 0, 2.0, 1.0)
    found = compare_evidence(models, counts, Y, sample_weight=weights, precision=0.25).log_evidence
    fits = {name: nb.fit_posterior(model, counts, Y, sample_weight=weights) for name, model in models.items()}
    assert_allclose(found["counts"], fits["counts"].log_evidence, rtol=1e-12)
    assert_allclose(found["normal"], fits["normal"].log_evidence + 2 * weights.sum() * np.log(0.25), rtol=1e-12)


@pytest.mark.parametrize("family", [nb.Normal(), nb.Normal(variance="shared"), nb.MultivariateNormal()])
def test_a_constant_column_has_a_density_only_under_a_scale_that_is_given(family):
    constant = np.stack([REAL[:, 0], np.full(40, 2.0)], axis=1)
    models = {"default": nb.NaiveBayes(family), "given": nb.NaiveBayes(nb.Normal(rate=1.0))}
    with pytest.raises(ValueError, match="have a density"):
        compare_evidence(models, constant, Y)
    found = compare_evidence(models, constant, Y, precision=[1.0, 0.5]).log_evidence
    assert_allclose(found["default"], nb.fit_posterior(models["default"], constant, Y).log_evidence, rtol=1e-12)


def test_the_evidences_of_all_rows_sum_to_one_at_most():
    """By brute force over all labels and cells of four rows; with shares from the rows for nothing they sum to more."""
    edges, points = np.array([[[0.0, 1.0]]]), np.array([[[-0.5, 0.5, 1.5]]])
    model, normal = histogram(edges, atoms=points), nb.NaiveBayes(nb.Poisson(), num_classes=2)
    model = nb.NaiveBayes(model.families["x"], num_classes=2)
    total = free = 0.0
    for cells in combinations_with_replacement(range(6), 4):
        counts = np.bincount(cells, minlength=6).reshape(2, 3)
        ways = np.exp(gammaln(5) - gammaln(counts + 1).sum())
        y, X = np.array(cells) // 3, points[0, 0][np.array(cells) % 3][:, None]
        fit = nb.fit_posterior(model, X, y)
        found = fit.log_evidence + cost_of_shares(counts.sum(axis=0))
        if cells[0] == 2:  # the formula above is that of the table
            compared = compare_evidence({"cells": fit, "counts": nb.fit_posterior(normal, X + 0.5, y)})
            assert_allclose(compared.log_evidence["cells"], found, rtol=1e-9)
        total, free = total + ways * np.exp(found), free + ways * np.exp(float(fit.log_evidence))
    assert total <= 1.0
    assert free > 1.0


@pytest.mark.parametrize("num_edges", [4, 8, 31])
def test_rows_of_a_normal_do_not_favour_cells(num_edges):
    """On average over seeds, and over classes that differ or not; without the cost of shares 31 edges are ahead."""
    models = {"cells": histogram(np.linspace(-3.0, 4.0, num_edges)), "normal": NORMAL}
    labels = np.arange(300) % 2
    factors, free = [], []
    for seed in range(8):
        rows = np.random.default_rng(seed).normal((seed % 2) * labels[:, None], 1.0, (300, 1))
        factors.append(compare_evidence(models, rows, labels).log_bayes_factor("cells", "normal"))
        free.append(np.subtract(*(nb.fit_posterior(m, rows, labels).log_evidence for m in models.values())))
    assert max(factors) < 0
    assert (np.mean(free) > 0) == (num_edges == 31)


def test_rows_that_are_not_normal_favour_cells():
    rows = RNG.exponential(size=(300, 1))
    models = {"cells": histogram(np.linspace(0.0, 5.0, 11)), "normal": NORMAL}
    assert compare_evidence(models, rows, np.arange(300) % 2).log_bayes_factor("cells", "normal") > 20


@pytest.mark.parametrize(
    ("models", "precision", "words"),
    [
        ({"a": histogram([0.0]), "b": NORMAL}, None, "'a', block 'x': a column with one edge has no bin with a width"),
        ({"a": NORMAL}, [0.1] * 3, r"\[D\], or a dict of these by block, and block 'x' has 2 columns; got \[0\.1"),
        ({"a": NORMAL}, {"z": 0.1}, "dict of these by block, and block 'x' has 2 columns"),
        ({"a": NORMAL}, -1.0, "compare_evidence: precision must be positive"),
        ({"a": NORMAL}, "fine", "precision must be"),
    ],
)
def test_widths_that_are_none_are_refused(models, precision, words):
    with pytest.raises(ValueError, match=words):
        compare_evidence(models, REAL, Y, precision=precision)


def test_a_saved_fit_says_whether_its_edges_were_found(tmp_path):
    """Files that do not say it have edges that were given."""
    assert saved(REAL, tmp_path).prior.families["x"].found
    given = nb.fit_posterior(histogram(), REAL, Y)
    nb.save(given, tmp_path / "given.bayesnb")
    assert b'"found"' not in (tmp_path / "given.bayesnb").read_bytes()
    assert not nb.load(tmp_path / "given.bayesnb").prior.families["x"].found
    assert prepare(nb.Histogram(), REAL, lambda: None).found
    with pytest.raises(ValueError, match="found is True or False"):
        nb.Histogram(found=1)
    with pytest.raises(ValueError, match="mass is that of bins between given edges"):
        nb.Histogram(mass=[0.5, 0.5])


def test_histograms_with_other_edges_are_fits_of_the_same_rows():
    """Their counts differ; as many cells are no reason to say that the rows do."""
    models = {"a": histogram(), "b": histogram(EDGES + 0.25)}
    assert set(compare_evidence(models, REAL, Y).log_evidence) == {"a", "b"}
    with pytest.raises(ValueError, match="fits of different rows"):
        compare_evidence({"a": nb.fit_posterior(histogram(), REAL, Y), "b": nb.fit_posterior(histogram(), -REAL, Y)})


def test_mapped_cells_compare_in_the_unit_of_x():
    """Two densities of x as they are; a probability beside a density in widths of x, which the density's cells have."""
    rng = np.random.default_rng(0)
    y = np.arange(40) % 2
    X = np.exp(rng.normal(y[:, None], 1.0, (40, 1)))
    fits = {"log": nb.NaiveBayes(nb.LogNormal()), "plain": nb.NaiveBayes(nb.Normal())}
    found = compare_evidence(fits, X, y)
    assert found.from_data == dict.fromkeys(fits, ("loc", "rate"))
    logs = nb.fit_posterior(nb.NaiveBayes(nb.Normal()), np.log(X), y)
    assert_allclose(found.log_evidence["log"], logs.log_evidence - np.log(X).sum(), rtol=1e-9)
    assert found.log_bayes_factor("log", "plain") > 5
    hurdle = {"hurdle": nb.NaiveBayes(nb.Hurdle(nb.LogNormal(), at=0.0)), "plain": nb.NaiveBayes(nb.Normal())}
    zeros = np.where(X < 0.7, 0.0, X)
    with pytest.raises(ValueError, match="give precision"):
        compare_evidence(hurdle, zeros, y)
    widths = compare_evidence(hurdle, zeros, y, precision=0.1)
    alone = nb.fit_posterior(hurdle["hurdle"], zeros, y).log_evidence
    assert_allclose(widths.log_evidence["hurdle"], alone + (zeros > 0).sum() * np.log(0.1), rtol=1e-9)
