"""Every mistake at the boundary ends in a ValueError that says what was expected, what came, and what to do."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose

import bayesnb as nb

X = np.array([[0.0, 1.0], [1.0, 1.0], [1.0, 0.0]])
Y = np.array([0, 1, 1])
ONE = nb.NaiveBayes(nb.Bernoulli())
TWO = nb.NaiveBayes({"flags": nb.Bernoulli(), "vitals": nb.Normal()})


@pytest.mark.parametrize(
    ("model", "X", "y", "options", "says"),
    [
        (ONE, X[:, 0], Y, {}, r"must be an array \[N, D\], got shape \(3,\).*x\[:, None\]"),
        (ONE, X[None], Y, {}, "flatten further axes"),
        (ONE, X.astype(str), Y, {}, "must hold numbers, got dtype <U32"),
        (ONE, {"flags": X}, Y, {}, "the model has one block"),
        (TWO, X, Y, {}, "X is a dict of arrays by those names, got an array of shape"),
        (TWO, {"flags": X}, Y, {}, "X has 'flags': the names must be the same"),
        (TWO, {"flags": X, "vitals": X, "more": X}, Y, {}, "'more'"),
        (TWO, {"flags": X, "vitals": X[:2]}, Y, {}, "same number of rows, got {'flags': 3, 'vitals': 2}"),
        (ONE, X, Y[:2], {}, r"y must be integers \[3\]"),
        (ONE, X, Y[:, None], {}, r"use y.ravel\(\)"),
        (ONE, X, np.array(["a", "b", "b"]), {}, "y holds strings.*NaiveBayesClassifier"),
        (ONE, X, np.array(["a", None, "b"], object), {}, "y holds strings"),
        (ONE, X, Y.astype(float), {}, r"got dtype float64; use y.astype\(int\)"),
        (ONE, X, Y - 1, {}, r"y holds -1, expected integers 0..0"),
        (nb.NaiveBayes(nb.Bernoulli(), num_classes=2), X, Y + 1, {}, "y holds 2, expected integers 0..1"),
        (ONE, X, None, {}, "y is missing"),
        (ONE, X, np.full((3, 2), 0.7), {}, r"sum 1 in each row, got \[0.7 0.7\] in row 0"),
        (ONE, X, np.array([[2.0, -1.0]] * 3), {}, "non-negative"),
        (nb.NaiveBayes(nb.Bernoulli(), num_classes=3), X, np.eye(2)[Y], {}, "one column per class, 3, got 2"),
        (ONE, X, Y, {"sample_weight": [1, 1]}, r"sample_weight must be numbers \[3\]"),
        (ONE, X, Y, {"sample_weight": [1, -1, 1]}, "not negative and at most .*, got -1"),
        (ONE, X, Y, {"sample_weight": [1, np.nan, 1]}, "finite, not negative and at most .*, got nan"),
        (ONE, X, Y, {"sample_weight": ["a", "b", "c"]}, "sample_weight must be numbers"),
        (ONE, X + 1, Y, {}, r"block 'x', column 0: a Bernoulli cell is 0, 1 or NaN \(missing\), got 2.0"),
        (nb.NaiveBayes(nb.Categorical(3)), X + 0.5, Y, {}, "a Categorical cell is a whole code.*got 0.5"),
        (nb.NaiveBayes(nb.Categorical((2, 2, 2))), X, Y, {}, "2 columns.*3"),
        (nb.NaiveBayes(nb.Multinomial()), -X - 1, Y, {}, "a Multinomial cell is a number, 0 or more.*got -1.0"),
        (nb.NaiveBayes(nb.Multinomial()), np.where(X == 0, np.nan, X), Y, {}, "NaN beside counts has an unknown total"),
        (nb.NaiveBayes(nb.Multinomial()), np.where(X == 0, np.inf, X), Y, {}, "column 0.*got inf"),
        (
            nb.NaiveBayes(nb.Normal()),
            np.where(X == 0, -np.inf, X),
            Y,
            {},
            "finite number below 5e\\+138 or NaN.*got -inf",
        ),
        (
            nb.NaiveBayes(nb.Normal()),
            X * 1e160,
            Y,
            {},
            "column 0: .* below 5e\\+138 .*got 1e\\+160; give the column in",
        ),
        (ONE, np.zeros((0, 2)), np.zeros(0, int), {}, "without rows the number of classes must be declared"),
    ],
)
def test_rows_that_do_not_fit(model, X, y, options, says):
    for fit in (nb.fit_mle, nb.fit_map, nb.fit_posterior, nb.sufficient_statistics):
        with pytest.raises(ValueError, match=says):
            fit(model, X, y, **options)


def test_values_in_jax_arrays_are_checked_too():
    with pytest.raises(ValueError, match="Bernoulli cell is 0, 1 or NaN"):
        nb.fit_mle(ONE, jnp.asarray(X) + 1, jnp.asarray(Y))
    with pytest.raises(ValueError, match="y holds 7"):
        nb.fit_mle(nb.NaiveBayes(nb.Bernoulli(), num_classes=2), jnp.asarray(X), jnp.asarray(Y) + 6)


@pytest.mark.parametrize("fit", [nb.fit_mle, nb.fit_map, nb.fit_posterior])
def test_new_rows_that_do_not_fit(fit):
    result = fit(ONE, X, Y)
    for bad, says in [(X[:, :1], "1 columns, the model has 2"), (X + 1, "Bernoulli cell"), (X[0], r"got shape \(2,\)")]:
        with pytest.raises(ValueError, match=says):
            result.predict_proba(bad)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: nb.Bernoulli(a=0.0), "Bernoulli: a must be positive and finite, got 0.0"),
        (lambda: nb.Bernoulli(b=[1.0, -2.0]), r"with -2 in it"),
        (lambda: nb.Bernoulli(a="one"), "must be a number or an array of numbers, got 'one'"),
        (lambda: nb.Bernoulli.laplace(-1.0), "a must be positive"),
        (lambda: nb.Multinomial(np.nan), "concentration must be positive"),
        (lambda: nb.Categorical(0), "num_categories must be a positive int"),
        (lambda: nb.Categorical(2.5), "num_categories must be a positive int"),
        (lambda: nb.Categorical((2, -1)), "num_categories must be a positive int"),
        (lambda: nb.Normal(loc=np.inf), "loc must be finite"),
        (lambda: nb.Normal(rate=-1.0), "rate must be positive"),
        (lambda: nb.NaiveBayes({}), "at least one block"),
        (lambda: nb.NaiveBayes(nb.Bernoulli), r"must be a family such as Bernoulli\(...\)"),
        (lambda: nb.NaiveBayes({"a b": nb.Normal()}), "a Python identifier"),
        (lambda: nb.NaiveBayes({"label": nb.Normal()}), "two parts of the program would have the name 'label'"),
        (
            lambda: nb.NaiveBayes({"class": nb.Bernoulli()}),
            "two parts of the program would have the name 'class_probs'",
        ),
        (lambda: nb.NaiveBayes({"a": nb.Bernoulli(), "a_probs": nb.Normal()}), "name 'a_probs': rename a block"),
        (lambda: nb.NaiveBayes({"a": nb.Bernoulli(), "a_classes": nb.Normal()}), "the name 'a_classes'"),
        (lambda: nb.Normal(loc="mean"), "loc must be a number or an array of numbers, got 'mean'"),
        (lambda: nb.NaiveBayes(nb.Normal(), class_probs=[0.2, 0.2]), r"sum to 1, got \[0.2, 0.2\] with sum 0.4"),
        (lambda: nb.NaiveBayes(nb.Normal(), class_probs=[1.2, -0.2]), "non-negative"),
        (lambda: nb.NaiveBayes(nb.Normal(), class_probs=0.5), "one probability per class"),
        (lambda: nb.NaiveBayes(nb.Normal(), class_concentration=0), "class_concentration must be positive"),
        (lambda: nb.NaiveBayes(nb.Normal(), class_probs=[0.5, 0.5], num_classes=3), "different numbers of classes"),
        (lambda: nb.NaiveBayes(nb.Normal(), num_classes=0), "num_classes must be a positive int"),
        (lambda: nb.NaiveBayes(nb.Normal(), num_classes="two"), "num_classes must be a positive int"),
    ],
)
def test_models_that_are_none(make, says):
    with pytest.raises(ValueError, match=says):
        make()


PARAMS = {"class_probs": [0.75, 0.25], "x_probs": [[0.8, 0.01], [0.4, 0.1]]}


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"x_loc": 0.0}, "params must have the sites"),
        ({"x_probs": [[0.8, 1.01], [0.4, 0.1]]}, r"must be probabilities in \[0, 1\], got 1.01 in it"),
        ({"x_probs": [[0.8, 0.01]]}, "must have 2 classes on its first axis"),
        ({"x_probs": [0.8, 0.01]}, r"must be an array \[K, D\]"),
        ({"class_probs": [0.75, 0.75]}, "sum to 1"),
    ],
)
def test_parameters_that_are_none(change, says):
    with pytest.raises(ValueError, match=says):
        nb.PointEstimate(ONE, {**PARAMS, **change})


@pytest.mark.parametrize("variance", [[[1.0], [-1.0]], [[1.0], [0.0]]])
def test_variances_that_are_none(variance):
    params = {"class_probs": [0.5, 0.5], "x_loc": [[0.0], [1.0]], "x_variance": variance}
    with pytest.raises(ValueError, match="must be positive, or 0 in every class if the column is constant"):
        nb.PointEstimate(nb.NaiveBayes(nb.Normal()), params)


def test_arguments_that_contradict_each_other():
    statistics = nb.sufficient_statistics(ONE, X, Y)
    with pytest.raises(ValueError, match="not both"):
        nb.fit_map(ONE, X, Y, statistics=statistics)
    with pytest.raises(ValueError, match="give rows, X and y, or statistics"):
        nb.fit_map(ONE)
    with pytest.raises(ValueError, match=r"a model such as .* got Bernoulli"):
        nb.fit_map(nb.Bernoulli(), X, Y)
    with pytest.raises(ValueError, match="no maximum without rows"):
        nb.fit_mle(nb.NaiveBayes(nb.Bernoulli(), num_classes=2), X, Y, sample_weight=np.zeros(3))
    with pytest.raises(ValueError, match="statistics must be those of the model"):
        nb.fit_map(nb.NaiveBayes(nb.Normal()), statistics=statistics)
    with pytest.raises(ValueError, match="3 classes, the statistics 2"):
        nb.fit_map(nb.NaiveBayes(nb.Bernoulli(), num_classes=3), statistics=statistics)
    with pytest.raises(ValueError, match="statistics of different models"):
        nb.merge(statistics, nb.sufficient_statistics(nb.NaiveBayes(nb.Normal()), X, Y))
    with pytest.raises(ValueError, match="classes and columns are the same"):
        nb.merge(statistics, nb.sufficient_statistics(ONE, X[:, :1], Y))
    with pytest.raises(TypeError, match="key"):
        nb.fit_nuts(ONE, X, Y)


def test_sizes_that_do_not_agree():
    threes = nb.NaiveBayes(nb.Categorical((3, 3)))
    params = {"class_probs": [0.5, 0.5], "x_probs": np.full((2, 5, 3), 1 / 3)}
    with pytest.raises(ValueError, match="params of block 'x' have 5 columns, the model 2"):
        nb.PointEstimate(threes, params)
    pairs = nb.NaiveBayes(nb.Categorical(2), num_classes=2)
    statistics = nb.sufficient_statistics(pairs, np.zeros((4, 3)), [0, 0, 1, 1])
    for other in (nb.Categorical(3), nb.Categorical((3, 3)), nb.Categorical((2, 2))):
        with pytest.raises(ValueError, match="statistics must be those of the model"):
            nb.fit_map(nb.NaiveBayes(other), statistics=statistics)
    layouts = [nb.sufficient_statistics(nb.NaiveBayes(nb.Categorical(c)), X, Y) for c in ((2, 3), (3, 2))]
    with pytest.raises(ValueError, match="statistics of different models"):
        nb.merge(*layouts)


def test_numbers_of_classes_that_do_not_agree():
    declared = nb.NaiveBayes(nb.Bernoulli(), num_classes=2)
    with pytest.raises(ValueError, match="num_classes is 3, the model has 2"):
        nb.sufficient_statistics(declared, X, Y, num_classes=3)
    for bad in (0, 2.5, "3"):
        with pytest.raises(ValueError, match="num_classes must be a positive int"):
            nb.sufficient_statistics(ONE, X, Y, num_classes=bad)


def test_what_is_no_model_no_key_and_no_number():
    for call in (nb.fit_map, nb.sufficient_statistics):
        with pytest.raises(ValueError, match=r"a model such as .* got Normal"):
            call(nb.Normal(), X, Y)
    with pytest.raises(ValueError, match=r"merge takes statistics, .* got NoneType"):
        nb.merge(nb.sufficient_statistics(ONE, X, Y), None)
    with pytest.raises(ValueError, match=r"such as jax.random.key\(0\), got 0"):
        nb.fit_nuts(ONE, X, Y, key=0)
    with pytest.raises(ValueError, match=r"such as jax.random.key\(0\), got 0"):
        nb.fit_posterior(ONE, X, Y).sample(0, 5)
    for options, says in [({"num_samples": 2}, "at least 4"), ({"num_chains": 0}, "num_chains must be a positive int")]:
        with pytest.raises(ValueError, match=says):
            nb.fit_nuts(ONE, X, Y, key=jax.random.key(0), **options)
    with pytest.raises(ValueError, match="from which the model can be resolved"):
        ONE.resolve()


def test_the_program_says_what_it_lacks():
    with pytest.raises(ValueError, match=r"model.resolve\(X, y\)\(num_rows=100\)"):
        ONE(num_rows=10)
    resolved = ONE.resolve(X, Y)
    with pytest.raises(ValueError, match="give X, y or num_rows"):
        resolved()
    with pytest.raises(ValueError, match="the program needs integer labels"):
        resolved(X, np.eye(2)[Y])
    with pytest.raises(ValueError, match="the number of classes must be declared"):
        ONE.resolve(X)


@pytest.mark.parametrize("family", [nb.Normal(), nb.MultivariateNormal(), nb.Normal(variance="shared")])
def test_jax_columns_whose_squares_vanish_are_refused(family):
    """Their variances would be 0, or lose their digits; numpy rows are fitted in float64."""
    random = np.random.default_rng(0)
    y = np.arange(40) % 2
    plain = random.normal(size=(40, 2)) + y[:, None]
    model = nb.NaiveBayes(family)
    tiny = float(jnp.finfo(jnp.result_type(float)).tiny)
    unit = np.array([1.0, tiny**0.4])  # the smallest units that squares take
    near = nb.fit_posterior(model, jnp.asarray(plain * unit), y).predict_proba(jnp.asarray(plain * unit))
    assert_allclose(near, nb.fit_posterior(model, plain * unit, y).predict_proba(plain * unit), atol=1e-4)
    for power in (0.47, 0.5, 0.51):
        cells = jnp.asarray(plain * np.array([1.0, tiny**power]))
        for fit in (nb.fit_mle, nb.fit_posterior, nb.sufficient_statistics):
            with pytest.raises(ValueError, match=r"block 'x', column 1: .* needs a number above .* another unit"):
                fit(model, cells, y)
    zeros = jnp.asarray(plain * np.array([1.0, 0.0]))
    assert np.isfinite(nb.fit_posterior(model, zeros, y).predict_proba(zeros)).all()
