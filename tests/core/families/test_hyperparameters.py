"""Hyperparameters and cells near the ends of what numbers can hold: right, warned of, or refused in a sentence."""

from fractions import Fraction
from math import log, log1p

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import gammaln
from scipy.stats import norm

import bayesnb as nb

Y = np.array([0, 0, 0, 0, 1, 1, 1])
ONES = np.array([[1], [1], [1], [0], [0], [0], [1]])


def urn(prior, counts):
    """log of prod_c a_c (a_c + 1) ... / (A (A + 1) ...): the exact probability of labelled draws, as a fraction."""
    total, value, drawn = sum(map(Fraction, prior)), Fraction(1), 0
    for a, count in zip(prior, counts, strict=True):
        for j in range(int(count)):
            value *= (Fraction(a) + j) / (total + drawn)
            drawn += 1
    return log(value)


def by_class(X, values):
    return [[int((X[k == Y, 0] == v).sum()) for v in values] for k in (0, 1)]


SIZES = [1e-100, 1e-3, 1.0, 1e8, 1e15, 1e99]


@pytest.mark.parametrize("size", SIZES)
def test_evidence_of_counts_is_that_of_an_urn(size):
    """Bayes factors are differences of these, so they are right to 1e-9 nats, however large the prior."""
    counts = by_class(ONES, (1, 0))
    expected = sum(urn((size, 2 * size), c) for c in counts)
    labels = urn((size, size), (4, 3))
    bernoulli = nb.fit_posterior(nb.NaiveBayes(nb.Bernoulli(size, 2 * size), class_concentration=size), ONES, Y)
    assert_allclose(bernoulli.evidence_table().features["x"].sum(), expected, rtol=1e-12, atol=1e-9)
    assert_allclose(bernoulli.evidence_table().labels, labels, rtol=1e-12, atol=1e-9)
    binomial = nb.fit_posterior(nb.NaiveBayes(nb.Binomial(1, size, 2 * size)), ONES, Y)
    assert_allclose(binomial.evidence_table().features["x"].sum(), expected, rtol=1e-12, atol=1e-9)
    categorical = nb.fit_posterior(nb.NaiveBayes(nb.Categorical(2, [2 * size, size])), ONES, Y)
    assert_allclose(categorical.evidence_table().features["x"].sum(), expected, rtol=1e-12, atol=1e-9)
    words = nb.fit_posterior(nb.NaiveBayes(nb.Multinomial([size, 2 * size])), np.c_[ONES, 1 - ONES], Y)
    assert_allclose(words.evidence_table().features["x"].sum(), expected, rtol=1e-12, atol=1e-9)
    assert np.isfinite(bernoulli.log_joint(ONES)).all()
    assert_allclose(bernoulli.predict_proba(ONES).sum(axis=1), 1.0)


@pytest.mark.parametrize("rows", [np.asarray, jnp.asarray])
@pytest.mark.parametrize(
    "family",
    [
        lambda one: nb.Categorical(2, concentration=one),
        lambda one: nb.Categorical([2, 3], concentration=one),
        lambda one: nb.Bernoulli(one, one),
        lambda one: nb.Binomial(1, one, one),
        lambda one: nb.Multinomial(one),
        lambda one: nb.Poisson(one, one),
        lambda one: nb.Normal(0 * one, one, one, one),
    ],
)
def test_whole_numbers_are_the_same_as_floats(family, rows, rng):
    """Sums of weights were cut to the whole numbers of their prior."""
    X, weight = np.c_[ONES, ONES[::-1]], rng.random(7)
    found = []
    for one in (1, 1.0):
        model = nb.NaiveBayes(family(one), class_concentration=one, num_classes=2)
        post = nb.fit_posterior(model, rows(X), rows(Y), sample_weight=rows(weight))
        whole = nb.fit_posterior(model, rows(X), rows(Y))
        found.append((post.log_evidence, whole.log_evidence, post.log_joint(rows(X)), whole.log_joint(rows(X))))
    for as_whole, as_float in zip(*found, strict=True):
        assert_allclose(as_whole, as_float, rtol=1e-12)


@pytest.mark.parametrize("size", SIZES)
def test_evidence_of_poisson_counts_is_a_product_of_negative_binomials(size):
    X = np.array([[3], [0], [2], [5], [1], [0], [4]])
    fit = nb.fit_posterior(nb.NaiveBayes(nb.Poisson(size, size)), X, Y)
    expected = 0.0
    for k in (0, 1):
        shape = rate = Fraction(size)
        for x in X[k == Y, 0].tolist():
            rising = Fraction(1)
            for j in range(x):
                rising *= (shape + j) / (rate + 1)
            expected += log(rising) - float(shape) * log1p(float(1 / rate)) - float(gammaln(x + 1))
            shape, rate = shape + x, rate + 1
    assert_allclose(fit.evidence_table().features["x"].sum(), expected, rtol=1e-12, atol=1e-9)


@pytest.mark.parametrize("family", [nb.Normal, nb.MultivariateNormal])
@pytest.mark.parametrize("size", [1e15, 1e99])
def test_evidence_under_a_prior_that_is_sure_is_a_normal_density(family, size):
    X = np.random.default_rng(0).normal(size=(7, 2))
    prior = (
        nb.Normal(loc=0.5, strength=size, shape=size, rate=2 * size)
        if family is nb.Normal
        else nb.MultivariateNormal(loc=0.5, strength=size, df=size, scale=2 * size * np.eye(2))
    )
    fit = nb.fit_posterior(nb.NaiveBayes(prior), X, Y)
    expected = norm.logpdf(X, 0.5, np.sqrt(2.0)).sum()
    assert_allclose(fit.evidence_table().features["x"].sum(), expected, rtol=1e-9)
    assert_allclose(fit.log_joint(X), np.log([5 / 9, 4 / 9])[None] + norm.logpdf(X, 0.5, 2**0.5).sum(1)[:, None])


@pytest.mark.parametrize("size", [1.0, 1e15])
def test_float32_keeps_a_hundredth_of_a_nat(size):
    counts = by_class(ONES, (1, 0))
    expected = sum(urn((size, 2 * size), c) for c in counts) + urn((1.0, 1.0), (4, 3))

    @jax.jit
    def evidence(X):
        return nb.fit_posterior(nb.NaiveBayes(nb.Bernoulli(size, 2 * size), num_classes=2), X, Y).log_evidence

    assert_allclose(evidence(jnp.asarray(ONES)), expected, atol=1e-2)


@pytest.mark.parametrize("value", [1e-308, 1e-101, 1e101, 1e307])
@pytest.mark.parametrize(
    "make",
    [
        lambda v: nb.Bernoulli(a=v),
        lambda v: nb.Bernoulli(b=v),
        lambda v: nb.Binomial(3, a=v),
        lambda v: nb.Categorical(3, concentration=v),
        lambda v: nb.Multinomial(concentration=[1.0, v]),
        lambda v: nb.Poisson(shape=v),
        lambda v: nb.Poisson(rate=v),
        lambda v: nb.Normal(strength=v),
        lambda v: nb.Normal(shape=v),
        lambda v: nb.Normal(rate=v),
        lambda v: nb.MultivariateNormal(strength=v),
        lambda v: nb.MultivariateNormal(df=v),
        lambda v: nb.MultivariateNormal(scale=np.diag([v, v])),
        lambda v: nb.NaiveBayes(nb.Bernoulli(), class_concentration=[1.0, v]),
    ],
)
def test_a_size_that_would_overflow_is_refused_with_the_bound(make, value):
    with pytest.raises(ValueError, match=r"at (least 1e-100 and at )?most 1e\+100"):
        make(value)


@pytest.mark.parametrize("family", [nb.Normal, nb.MultivariateNormal])
def test_a_prior_mean_that_would_overflow_is_refused_with_the_bound(family):
    with pytest.raises(ValueError, match=r"loc must be at most 1e\+100 in size, got 1e\+155"):
        family(loc=-1e155)


CORNERS = {
    "normal": lambda a, b: nb.Normal(loc=a, strength=a, shape=b, rate=b),
    "crossed": lambda a, b: nb.Normal(loc=-b, strength=b, shape=b, rate=a, variance="shared"),
    "poisson": lambda a, b: nb.Poisson(a, b),
    "binomial": lambda a, b: nb.Binomial(4, a, b),
    "bernoulli": lambda a, b: nb.Bernoulli(a, b),
}


@pytest.mark.parametrize("pair", [(1e-100, 1e100), (1e100, 1e-100), (1e-100, 1e-100), (1e100, 1e100)])
@pytest.mark.parametrize("name", CORNERS)
def test_nothing_at_the_bounds_is_nan(name, pair):
    fit = nb.fit_posterior(nb.NaiveBayes(CORNERS[name](*pair)), ONES, Y)
    assert not np.isnan(fit.log_evidence)
    assert_allclose(fit.predict_proba(ONES).sum(axis=1), 1.0)
    assert not np.isnan(nb.leave_one_out(fit.prior, ONES, Y)).any()


@pytest.mark.parametrize("family", [nb.Normal(), nb.MultivariateNormal()])
def test_cells_whose_squares_overflow_are_refused(family):
    X = np.array([[1.0], [1e200], [2.0]])
    with pytest.raises(ValueError, match=r"finite number below .*got 1e\+200"):
        nb.fit_posterior(nb.NaiveBayes(family), X, [0, 1, 1])
    with pytest.raises(ValueError, match=r"finite number below .*got 1e\+200"):
        nb.fit_posterior(nb.NaiveBayes(family), X[[0, 2, 2]], [0, 1, 1]).predict(X)


@pytest.mark.parametrize("family", [nb.Poisson(), nb.Binomial(None), nb.Multinomial()])
def test_huge_counts_are_no_nan(family):
    huge = np.array([[1.0, 2.0], [1e200, 1.0], [2.0, 1e200], [4.0, 1.0]])
    X = (huge, 2 * huge) if isinstance(family, nb.Binomial) else huge
    fit = nb.fit_posterior(nb.NaiveBayes(family), X, [0, 1, 0, 1])
    assert not np.isnan([*fit.predict_proba(X).ravel(), fit.log_evidence]).any()


# numbers that floating point holds with few digits: refused, or a warning, where an answer would be rough


ROWS = np.arange(12) % 2


@pytest.mark.parametrize("family", [nb.Histogram(), nb.Views(nb.Histogram(), nb.Normal())])
@pytest.mark.parametrize("kind", [np.int64, np.uint64])
def test_whole_numbers_that_floats_would_round_are_refused(family, kind):
    x = (2**53 + np.arange(12)).astype(kind)[:, None]
    with pytest.raises(
        ValueError, match="holds 9007199254740993, which floating point would round to 9007199254740992"
    ):
        nb.fit_posterior(nb.NaiveBayes(family), x, ROWS)
    even = 2 * x // 2 * 2 - 2**52  # floats hold these
    fit = nb.fit_posterior(nb.NaiveBayes(nb.Histogram()), even, ROWS)
    with pytest.raises(ValueError, match="subtract a constant from the column"):
        fit.predict(x)


@pytest.mark.parametrize(
    ("base", "step", "array"),
    [
        (1e16, 2.0, np.asarray),
        (-(2.0**60), 256.0, np.asarray),
        pytest.param(1e8, 8.0, jnp.asarray, marks=pytest.mark.skipif(jax.config.jax_enable_x64, reason="exact then")),
    ],
)
def test_a_column_of_a_few_units_in_the_last_place_is_warned_of(base, step, array):
    x = array((base + step * (np.arange(12) % 5))[:, None])
    with pytest.warns(UserWarning, match="column 0: the cells of a class differ by a few units .*subtract a constant"):
        nb.fit_posterior(nb.NaiveBayes(nb.Normal()), x, ROWS)


@pytest.mark.parametrize("spread", [64, 1000])
def test_beyond_a_merge_is_right_to_a_thousandth(spread, rng):
    """Without a warning, against exact arithmetic: what the statistics of two parts say of the variance."""
    unit = 2.0  # in the last place of 1e16
    x = 1e16 + unit * rng.integers(0, spread, 40)
    parts = [
        nb.sufficient_statistics(nb.NaiveBayes(nb.Normal()), p[:, None], np.zeros(len(p), int)) for p in (x[:7], x[7:])
    ]
    found = nb.fit_mle(nb.NaiveBayes(nb.Normal()), statistics=nb.merge(*parts)).params["x_variance"][0, 0]
    exact = [Fraction(float(cell)) for cell in x]
    mean = sum(exact) / len(exact)
    assert found == pytest.approx(float(sum((cell - mean) ** 2 for cell in exact) / len(exact)), rel=4e-3)


def test_constant_columns_and_rounded_ones_are_told_apart():
    """A constant is exact, however large: no warning."""
    for cell in (0.1, 1e16, 1e300 / 1e170):
        nb.fit_posterior(nb.NaiveBayes(nb.Normal()), np.full((12, 1), cell), ROWS)


# hyperparameters as they are given: what is no number, and what float32 cannot hold, is refused in a sentence


NUMBERS = {
    "a": nb.Bernoulli,
    "b": lambda **given: nb.Binomial(3, **given),
    "concentration": lambda **given: nb.Categorical(3, **given),
    "shape": nb.Poisson,
    "strength": nb.Normal,
    "smoothing": nb.MultivariateNormal,
    "class_concentration": lambda **given: nb.NaiveBayes(nb.Bernoulli(), **given),
}


@pytest.mark.parametrize("value", [None, "1", True, [True], ["1"], [None, 1.0], {}, 1j, [[1.0], [1.0, 2.0]]])
@pytest.mark.parametrize("name", NUMBERS)
def test_what_is_no_number_is_refused(name, value):
    with pytest.raises(ValueError, match=rf"{name} must be a number|rows of one length are expected"):
        NUMBERS[name](**{name: value})


@pytest.mark.parametrize("name", NUMBERS)
def test_too_many_axes_are_refused(name):
    with pytest.raises(ValueError, match=r"at most . axes, got shape|must be a number, or one per class"):
        NUMBERS[name](**{name: [[[[1.0]]]]})


def test_hyperparameters_that_data_may_set_are_none_by_default():
    for family in (nb.Normal(loc=None, rate=None), nb.Poisson(rate=None), nb.MultivariateNormal(df=None, scale=None)):
        assert np.isfinite(nb.fit_posterior(nb.NaiveBayes(family), [[1.0], [0.0]], [0, 1]).log_evidence)


@pytest.mark.skipif(jax.config.jax_enable_x64, reason="float32 alone has these bounds")
@pytest.mark.parametrize(
    "family",
    [
        nb.Bernoulli(1e60, 1.0),
        nb.Bernoulli(b=1e-60),
        nb.Categorical(2, 1e60),
        nb.Multinomial(1e-60),
        nb.Poisson(rate=1e60),
        nb.Normal(loc=1e60),
        nb.Normal(loc=1e25),
        nb.Normal(rate=1e-60),
        nb.MultivariateNormal(loc=1e25),
        nb.MultivariateNormal(scale=[[1e60]]),
    ],
    ids=str,
)
@pytest.mark.parametrize("fit", [nb.fit_posterior, nb.fit_map, nb.leave_one_out])
def test_what_float32_cannot_hold_is_refused_beside_jax_rows(family, fit):
    X, y = np.array([[1.0], [0.0], [1.0]]), np.array([0, 1, 1])
    model = nb.NaiveBayes(family, num_classes=2)
    assert np.isfinite(nb.fit_posterior(model, X, y).log_evidence)
    sentence = r"block 'x', .* in float32: .* must be .*most 1e\+(30|18).*JAX_ENABLE_X64"
    with pytest.raises(ValueError, match=sentence):
        fit(model, jnp.asarray(X), jnp.asarray(y))
    with pytest.raises(ValueError, match=sentence):
        jax.jit(lambda X, y: fit(model, X, y))(X, y)


@pytest.mark.skipif(jax.config.jax_enable_x64, reason="float32 alone has these bounds")
def test_the_class_concentration_has_them_too():
    model = nb.NaiveBayes(nb.Bernoulli(), class_concentration=1e60)
    with pytest.raises(ValueError, match=r"in float32, NaiveBayes: class_concentration must be .*JAX_ENABLE_X64"):
        nb.fit_posterior(model, jnp.asarray([[1.0], [0.0]]), jnp.asarray([0, 1]))
