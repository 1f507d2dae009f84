"""Words of many classes: with counts that stay sparse, every answer is that of the dense table [K, D]."""

from dataclasses import replace
from itertools import pairwise

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.sparse
from numpy.testing import assert_allclose, assert_array_equal

import bayesnb as nb
from bayesnb.compute.arrays import _limits as limits
from bayesnb.compute.arrays import _memory as memory
from bayesnb.compute.arrays._class_table import is_class_table
from tests import cases

KEY = jax.random.key(0)

K, D, N = 7, 30, 90
PRIORS = {"uniform": 1.0, "laplace": 1.5, "below 1": 0.3, "by word": np.linspace(0.2, 2.0, D)}
FITS = [nb.fit_mle, nb.fit_map, nb.fit_posterior]


@pytest.fixture
def texts():
    """Counts of which some are large; class 5 has no rows, and no class saw the last word."""
    rng = np.random.default_rng(3)
    X = rng.poisson(0.15, (N, D))
    X[::9, 4], X[::11, 6], X[:, -1] = 40, 1_000_000, 0
    y = np.r_[np.arange(5), 6, rng.integers(0, 5, N - 6)]
    return scipy.sparse.csr_array(X), y


@pytest.fixture
def other_rows():
    rng = np.random.default_rng(4)
    X = rng.poisson(0.3, (12, D))
    X[0], X[1], X[3] = 0, 60, 9
    rows = X.astype(float)
    rows[2] = np.nan
    return {"counts": scipy.sparse.csr_array(X), "shares": scipy.sparse.csr_array(X * 0.7), "dense": rows}


@pytest.fixture
def always_sparse(monkeypatch):
    """A function that makes every table of words sparse."""

    def start():
        monkeypatch.setattr(limits, "MOST_DENSE_CELLS", 0)
        monkeypatch.setattr(limits, "DENSITY", 0)

    return start


def model(concentration=1.0):
    return nb.NaiveBayes(nb.Multinomial(concentration), num_classes=K)


def counts_of(statistics):
    return statistics.blocks["x"].counts


@pytest.mark.parametrize("prior", cases.by_default(PRIORS, "below 1", "by word"))
@pytest.mark.parametrize("fit", FITS)
def test_every_answer_is_that_of_the_dense_table(texts, other_rows, always_sparse, fit, prior):
    dense = fit(model(PRIORS[prior]), *texts)
    always_sparse()
    found = fit(model(PRIORS[prior]), *texts)
    assert is_class_table(found.model.families["x"].concentration)
    for rows in other_rows.values():
        for answer in ("log_joint", "predict_log_proba", "predict_proba", "log_density", "predict"):
            assert_allclose(getattr(found, answer)(rows), getattr(dense, answer)(rows), rtol=1e-10, atol=1e-10)
    if fit is nb.fit_posterior:
        for one, other in zip(*map(jax.tree.leaves, (found.evidence_table(), dense.evidence_table())), strict=True):
            assert_allclose(one, other, rtol=1e-12)
    else:
        probs = found.params["x_probs"]
        assert is_class_table(probs)
        assert_allclose(np.asarray(probs), dense.params["x_probs"], rtol=1e-14)
        assert_allclose(probs[3], dense.params["x_probs"][3], rtol=1e-14)
        assert_allclose(probs[1:3], dense.params["x_probs"][1:3], rtol=1e-14)


@pytest.mark.parametrize("fit", FITS)
def test_weights_and_fractions(texts, other_rows, always_sparse, fit):
    X, y = texts
    weight = np.linspace(0.0, 2.0, N)
    dense = fit(model(0.5), X * 0.3, y, sample_weight=weight)
    always_sparse()
    found = fit(model(0.5), X * 0.3, y, sample_weight=weight)
    for rows in other_rows.values():
        assert_allclose(found.log_joint(rows), dense.log_joint(rows), rtol=1e-10, atol=1e-10)


def test_any_split_is_one_fit_and_subtraction_undoes_it(texts, always_sparse):
    X, y = texts
    always_sparse()
    whole = nb.sufficient_statistics(model(), X, y)
    for cuts in ([30], [1, 2, 80]):
        ends = [0, *cuts, N]
        parts = [nb.sufficient_statistics(model(), X[a:b], y[a:b]) for a, b in pairwise(ends)]
        merged = parts[0]
        for part in parts[1:]:
            merged = nb.merge(merged, part)
        left = merged
        for part in parts[1:]:
            left = nb.subtract(left, part)
        for found, expected in ((merged, whole), (left, parts[0])):
            for one, other in zip(*map(jax.tree.leaves, (counts_of(found), counts_of(expected))), strict=True):
                assert_array_equal(one, other)
            assert_allclose(found.blocks["x"].log_base, expected.blocks["x"].log_base, rtol=1e-12, atol=1e-6)
    with pytest.raises(ValueError, match="more than the total"):
        nb.subtract(parts[0], whole)
    some = nb.sufficient_statistics(model(), X[:9], y[:9])
    words = replace(some.blocks["x"], counts=some.blocks["x"].counts * 3.0)
    with pytest.raises(ValueError, match=r"counts of the rows to take away, \d+ in class \d"):
        nb.subtract(some, some.with_block("x", words))


def test_dense_and_sparse_counts_merge(texts, always_sparse):
    X, y = texts
    dense = nb.sufficient_statistics(model(), X, y)
    always_sparse()
    sparse = nb.sufficient_statistics(model(), X, y)
    for a, b in ((dense, sparse), (sparse, dense), (sparse, sparse)):
        assert_array_equal(np.asarray(counts_of(nb.merge(a, b))), 2 * counts_of(dense))
    for a, b in ((dense, sparse), (sparse, dense)):
        assert not np.any(counts_of(nb.subtract(a, b)))
    halved = nb.discount(sparse, 0.5)
    assert_array_equal(np.asarray(counts_of(halved)), 0.5 * counts_of(dense))


def test_classes_merge_by_name(texts, always_sparse):
    X, y = texts
    names = list("cabdefg"), list("zgbdeah")
    unnamed = nb.NaiveBayes(nb.Multinomial())

    def merged():
        one, other = (
            nb.sufficient_statistics(unnamed, X[::step], y[::step], classes=n) for step, n in enumerate(names, 1)
        )
        return nb.merge(one, other)

    dense = merged()
    always_sparse()
    assert merged().classes == dense.classes
    assert_array_equal(np.asarray(counts_of(merged())), counts_of(dense))


def test_the_estimator_learns_in_parts(texts, always_sparse):
    X, y = texts
    X.data = np.minimum(X.data, 40)  # log probabilities are differences of the scores of a row
    dense = nb.NaiveBayesClassifier("multinomial").fit(X, y)
    always_sparse()
    parts = nb.NaiveBayesClassifier("multinomial").partial_fit(X[:40], y[:40], classes=np.unique(y))
    parts.partial_fit(X[40:], y[40:])
    assert is_class_table(counts_of(parts.statistics_))
    assert_allclose(parts.predict_log_proba(X), dense.predict_log_proba(X), rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("fit", FITS)
def test_saved_and_loaded(texts, always_sparse, tmp_path, fit):
    always_sparse()
    fitted = fit(model(), *texts)
    nb.save(fitted, tmp_path / "fit")
    again = nb.load(tmp_path / "fit")
    for one, other in zip(*map(jax.tree.leaves, (again, fitted)), strict=True):
        assert_array_equal(one, other)
    assert_array_equal(again.predict_log_proba(texts[0]), fitted.predict_log_proba(texts[0]))


def test_a_file_with_wrong_places_is_refused(texts, always_sparse, tmp_path):
    always_sparse()
    statistics = nb.sufficient_statistics(model(), *texts)
    table = counts_of(statistics)
    bad = {
        "columns": table.columns + D,
        "rows": table.rows[::-1].copy(),
        "values": -table.values,
        "group": table.group - 1,
        "total": 0.0 * table.total,
        "base": table.base + 1.0,
    }
    for name, values in bad.items():
        words = replace(statistics.blocks["x"], counts=replace(table, **{name: values}))
        with pytest.raises(nb.StorageError, match="counts"):  # saving reads the file again
            nb.save(statistics.with_block("x", words), tmp_path / "statistics")


def test_words_beside_numbers(texts, always_sparse):
    X, y = texts
    both, rows = nb.NaiveBayes({"words": nb.Multinomial(), "size": nb.Normal()}, num_classes=K), X.sum(axis=1)[:, None]
    dense = nb.fit_posterior(both, {"words": X, "size": rows}, y)
    always_sparse()
    found = nb.fit_posterior(both, {"words": X, "size": rows}, y)
    X_new = {"words": X[:9], "size": rows[:9]}
    assert_allclose(found.log_joint(X_new), dense.log_joint(X_new), rtol=1e-10)


@pytest.mark.parametrize("weight", [None, np.linspace(0.1, 2.0, N)], ids=["rows", "weights"])
def test_left_out(texts, always_sparse, weight):
    X, y = texts
    X.data = np.minimum(X.data, 40)
    dense_rows = X.toarray().astype(float)
    expected = nb.leave_one_out(model(0.5), dense_rows, y, sample_weight=weight, joint=True)
    power = nb.temper(
        nb.fit_posterior(model(0.5), dense_rows, y, sample_weight=weight), dense_rows, y, sample_weight=weight
    )
    for start in (lambda: None, always_sparse):
        start()
        assert_allclose(nb.leave_one_out(model(0.5), X, y, sample_weight=weight, joint=True), expected, rtol=1e-10)
        post = nb.fit_posterior(model(0.5), X, y, sample_weight=weight)
        for rows in (X, dense_rows):
            found = nb.temper(post, rows, y, sample_weight=weight)
            assert_allclose(found.powers["x"], power.powers["x"], rtol=1e-4)
        with pytest.raises(ValueError, match="must be the rows that the posterior was fitted to"):
            nb.temper(post, X[::-1], y, sample_weight=weight)


def test_what_needs_the_whole_table_makes_it(texts, always_sparse):
    X, y = texts
    X.data = np.minimum(X.data, 40)  # JAX rows are scored in float32
    rows = X.toarray().astype(float)
    J = jnp.asarray(rows[:6], jnp.float32)
    jobs = {
        "JAX rows": lambda f: f["map"].predict_log_proba(J),
        "under jit": lambda f: jax.jit(f["posterior"].predict_log_proba)(J),
        "on a device": lambda f: jax.tree.map(jnp.asarray, f["posterior"]).predict_log_proba(J),
        "draws": lambda f: f["posterior"].sample(KEY, 2)["x_probs"],
        "generated rows": lambda f: f["map"].generate(key=KEY, num_rows=4, total_count=9)[0],
        "leave-one-out": lambda f: nb.leave_one_out(f["posterior"].prior, rows, y),
        "explained": lambda f: nb.explain(f["posterior"], rows[:2]).contributions,
        "empirical Bayes": lambda f: nb.fit_empirical(f["posterior"].prior, X, y).prior.families["x"].concentration,
        "another fit": lambda f: nb.fit_posterior(f["posterior"].prior, X, y).log_evidence,
        "a posterior as prior": lambda f: nb.fit_posterior(f["posterior"].model, X, y).log_evidence,
        "another population": lambda f: f["map"].with_class_probs(np.full(K, 1 / K)).predict_proba(X),
    }

    def fits():
        return {"posterior": nb.fit_posterior(model(), X, y), "map": nb.fit_map(model(1.5), X, y)}

    dense = fits()
    expected = {name: job(dense) for name, job in jobs.items()}
    always_sparse()
    sparse = fits()
    for name, job in jobs.items():
        assert_allclose(np.asarray(job(sparse)), np.asarray(expected[name]), rtol=2e-5, atol=1e-4, err_msg=name)


def test_refusals_say_what_to_do(texts, always_sparse, monkeypatch):
    always_sparse()
    X, y = texts[0][:, 1:], texts[1]  # of a shape that was not compiled before
    post = nb.fit_posterior(model(), X, y)
    monkeypatch.setattr(limits, "UNCHECKED_BYTES", 0)
    monkeypatch.setattr(memory, "available", lambda: 8 * K * (D - 1) - 1)
    with pytest.raises(ValueError, match="a table of 7 classes and 29 columns would take"):
        jax.jit(post.predict)(jnp.asarray(X[:6].toarray()))
    with pytest.raises(ValueError, match=r"merge statistics, nb\.merge, instead of taking a posterior as the prior"):
        nb.fit_posterior(post.model, statistics=post.statistics)


def test_only_large_tables_with_few_counts_are_sparse():
    few = scipy.sparse.csr_array((np.ones(4), ([0, 1, 2, 3], [0, 3000, 1, 2])), shape=(4, 4000))
    y = np.array([0, 4999, 7, 7])
    large = nb.sufficient_statistics(nb.NaiveBayes(nb.Multinomial(), num_classes=5000), few, y)
    assert is_class_table(counts_of(large))
    assert_array_equal(counts_of(large).rows, [0, 7, 7, 4999])
    small = nb.sufficient_statistics(nb.NaiveBayes(nb.Multinomial(), num_classes=100), few, y % 100)
    assert isinstance(counts_of(small), np.ndarray)
    # a table far beyond the memory of any machine
    wide = scipy.sparse.csr_array((np.ones(4), ([0, 1, 2, 3], [0, 3000, 1, 2])), shape=(4, 1_000_000))
    fit = nb.fit_map(nb.NaiveBayes(nb.Multinomial.laplace(1.0), num_classes=300_000), wide, y)
    assert_array_equal(fit.predict(wide), y)
    with pytest.raises(ValueError, match="a table of 300,000 classes and 1,000,000 columns"):
        np.asarray(fit.params["x_probs"])
