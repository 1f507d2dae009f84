"""Free parameters, counted on paper and in the arrays of a fit."""

import numpy as np
import pytest

import bayesnb as nb

K, N, D = 3, 40, 4
Y = np.arange(N) % K
RANDOM = np.random.default_rng(1)
X = {
    "flags": RANDOM.integers(0, 2, (N, D)),
    "wins": RANDOM.integers(0, 6, (N, D)),
    "tries": (RANDOM.integers(0, 6, (N, D)), np.full((N, D), 5)),
    "events": RANDOM.integers(0, 6, (N, D)),
    "codes": RANDOM.integers(0, 3, (N, D)),
    "ragged": RANDOM.integers(0, 2, (N, D)),
    "words": RANDOM.integers(0, 6, (N, D)),
    "own": RANDOM.normal(size=(N, D)),
    "tied": RANDOM.normal(size=(N, D)),
    "bent": RANDOM.normal(size=(N, D)),
    "plane": RANDOM.normal(size=(N, D)),
}
FAMILIES = {
    "flags": (nb.Bernoulli(), K * D),
    "wins": (nb.Binomial(5), K * D),
    "tries": (nb.Binomial(None), K * D),
    "events": (nb.Poisson(), K * D),
    "codes": (nb.Categorical(3), K * D * 2),
    "ragged": (nb.Categorical((2, 5, 3, 2)), K * (1 + 4 + 2 + 1)),
    "words": (nb.Multinomial(), K * (D - 1)),
    "own": (nb.Normal(), 2 * K * D),
    "tied": (nb.Normal(variance="shared"), (K + 1) * D),
    "bent": (nb.MultivariateNormal(), K * (D + D * (D + 1) // 2)),
    "plane": (nb.MultivariateNormal("shared"), K * D + D * (D + 1) // 2),
}
JOINT = {"flags": 2**D * K - 1, "wins": 6**D * K - 1, "codes": 3**D * K - 1, "ragged": 60 * K - 1}


def model(name, **options):
    return nb.NaiveBayes(FAMILIES[name][0], **options)


def free(site, value):
    """Independent numbers in a parameter: less one a simplex, and one triangle of a covariance."""
    if site.endswith("covariance"):
        size = value.shape[-1]
        return value.size // size**2 * (size * (size + 1) // 2)
    simplex = value.ndim == 3 or "_probs_" in site or site in ("class_probs", "words_probs")
    return value.size - (value.size // value.shape[-1] if simplex else 0)


@pytest.mark.parametrize("name", FAMILIES)
def test_formulas(name):
    counted = nb.num_parameters(model(name), num_columns=D, num_classes=K)
    assert counted.blocks == {"class_probs": K - 1, "x": FAMILIES[name][1]}
    assert counted.total == K - 1 + FAMILIES[name][1]
    assert counted.full_joint == JOINT.get(name)


def test_they_are_the_free_entries_of_a_fit():
    fit = nb.fit_map(nb.NaiveBayes({name: family for name, (family, _) in FAMILIES.items()}), X, Y)
    counted = nb.num_parameters(fit)
    for name in FAMILIES:
        sites = {site: value for site, value in fit.params.items() if site.startswith(f"{name}_")}
        assert counted.blocks[name] == sum(free(site, value) for site, value in sites.items())
    assert counted.blocks["class_probs"] == free("class_probs", fit.params["class_probs"])
    assert counted.total == sum(free(site, value) for site, value in fit.params.items())
    assert counted.full_joint is None


@pytest.mark.parametrize("name", FAMILIES)
def test_rows_and_labels_tell_sizes(name):
    assert nb.num_parameters(model(name), X[name], Y) == nb.num_parameters(model(name), num_columns=D, num_classes=K)


def test_a_fit_knows_its_sizes():
    for fit in (nb.fit_mle, nb.fit_map, nb.fit_posterior):
        assert nb.num_parameters(fit(model("own"), X["own"], Y)).total == 2 + 24
    assert nb.num_parameters(nb.fit_posterior(model("tries"), X["tries"], Y)).total == 2 + 12


def test_fixed_class_probabilities_are_not_free():
    counted = nb.num_parameters(model("flags", class_probs=[0.2, 0.3, 0.5]), num_columns=D)
    assert counted.blocks["class_probs"] == 0
    assert counted.total == 12


def test_mitchells_example():
    """Thirty binary features and a binary label: 2^31 - 1 for the joint table, 2 · 30 + 1 for Naive Bayes."""
    counted = nb.num_parameters(nb.NaiveBayes(nb.Bernoulli()), num_columns=30, num_classes=2)
    assert counted.total == 61
    assert counted.full_joint == 2**31 - 1


def test_the_full_joint_is_exact():
    """2^200 K - 1 is beyond every float and every fixed integer."""
    for size, classes in ((200, 2), (784, 10)):
        joint = nb.num_parameters(nb.NaiveBayes(nb.Bernoulli()), num_columns=size, num_classes=classes).full_joint
        assert isinstance(joint, int)
        assert joint == classes * 2**size - 1
    joint = nb.num_parameters(nb.NaiveBayes(nb.Categorical(7)), num_columns=200, num_classes=3).full_joint
    assert joint == 3 * 7**200 - 1
    joint = nb.num_parameters(nb.NaiveBayes(nb.Binomial(9)), num_columns=200, num_classes=3).full_joint
    assert joint == 3 * 10**200 - 1


def test_the_full_joint_of_counted_blocks_together():
    families = {name: FAMILIES[name][0] for name in JOINT}
    counted = nb.num_parameters(nb.NaiveBayes(families), num_columns=D, num_classes=K)
    assert counted.full_joint == 2**D * 6**D * 3**D * 60 * K - 1
    assert counted.total == K - 1 + sum(FAMILIES[name][1] for name in JOINT)
    with_reals = nb.num_parameters(nb.NaiveBayes({**families, "own": nb.Normal()}), num_columns=D, num_classes=K)
    assert with_reals.full_joint is None


def test_columns_may_be_given_by_block():
    two = nb.NaiveBayes({"a": nb.Normal(), "b": nb.Bernoulli()}, num_classes=2)
    assert nb.num_parameters(two, num_columns={"a": 3, "b": 5}).blocks == {"class_probs": 1, "a": 12, "b": 10}
    ragged = nb.NaiveBayes({"a": nb.Normal(), "b": nb.Categorical((2, 3))}, num_classes=2)
    assert nb.num_parameters(ragged, num_columns={"a": 3}).blocks == {"class_probs": 1, "a": 12, "b": 6}


@pytest.mark.parametrize(
    ("family", "options", "says"),
    [
        (nb.Normal(), {"num_classes": 2}, r"the columns of block 'x' are unknown: give X, or num_columns"),
        (nb.Normal(), {"num_columns": 2}, r"the number of classes is unknown: give X and y, or num_classes"),
        (nb.Normal(), {"X": X["own"]}, r"the number of classes is unknown"),
        (nb.Normal(), {"num_columns": 0, "num_classes": 2}, r"num_columns .*must be a positive int, got 0"),
        (nb.Normal(), {"num_columns": 2.5, "num_classes": 2}, r"num_columns .*must be a positive int, got 2.5"),
        (nb.Normal(), {"num_columns": {"y": 2}, "num_classes": 2}, r"num_columns must be a number, or a dict by block"),
        (nb.Normal(), {"num_columns": 2, "num_classes": -1}, r"num_classes must be a positive int"),
        (nb.Categorical((2, 3)), {"X": X["codes"], "y": Y}, r"block 'x' has 4 columns, the model has 2"),
        (nb.Normal(), {"X": X, "y": Y}, r"X is an array \[N, D\]"),
    ],
)
def test_sizes_that_are_unknown_are_a_sentence(family, options, says):
    with pytest.raises(ValueError, match=says):
        nb.num_parameters(nb.NaiveBayes(family), **options)


@pytest.mark.parametrize(
    ("given", "options"),
    [
        (nb.NaiveBayes(nb.Normal(), num_classes=3), {"num_columns": 2, "num_classes": 5}),
        (nb.NaiveBayes(nb.Categorical((2, 3)), num_classes=3), {"num_columns": 7}),
        (nb.fit_mle(nb.NaiveBayes(nb.Normal()), X["own"], Y), {"num_columns": 7}),
        (nb.fit_mle(nb.NaiveBayes(nb.Normal()), X["own"], Y), {"num_classes": 2}),
    ],
)
def test_sizes_that_contradict_each_other_are_refused(given, options):
    with pytest.raises(ValueError, match=r"(num_classes|columns)"):
        nb.num_parameters(given, **options)


def test_what_is_no_model():
    with pytest.raises(ValueError, match=r"a model such as .* got Normal"):
        nb.num_parameters(nb.Normal(), num_columns=2, num_classes=2)


def test_values_of_their_own_have_a_parameter_each():
    """Two classes and three columns: mean and variance, and two of the three probabilities."""
    hurdle = nb.NaiveBayes(nb.Hurdle(nb.LogNormal(), at=(0.0, 99.0)), num_classes=2)
    assert nb.num_parameters(hurdle, num_columns=3).blocks["x"] == 2 * 3 * (2 + 2)
    shared = nb.NaiveBayes(nb.Hurdle(nb.LogitNormal(variance="shared"), at=0.0), num_classes=2)
    assert nb.num_parameters(shared, num_columns=3).blocks["x"] == 2 * 3 * (1 + 1) + 3
