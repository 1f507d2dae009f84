"""What the first split says: dependent columns, NUTS beside the exact posterior, and when it is left out."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

import bayesnb as nb
from bayesnb.inspection._dependence import dependence
from bayesnb.studies.comparison._data_sets import bayes_model
from bayesnb.studies.comparison._designs import Split, make_design
from bayesnb.studies.comparison._first_split import (
    check_with_nuts,
    dependent_columns,
    say_robustness,
    too_long_for_nuts,
)
from bayesnb.studies.comparison._metrics import set_scores
from bayesnb.tables.files._description import make_table
from bayesnb.tables.files.sources._paths import of_frame
from tests.comparisons import data_of, synthetic


def first(table, size):
    split = make_design(table.name, "crossed", table.y, 1, 3).nested[0]
    return Split(split.train[:size], split.test)


def test_dependence_is_found_in_the_training_rows_under_the_names_of_the_columns():
    frame = pd.DataFrame({"a": np.arange(90.0) % 7, "b": np.arange(90.0) % 2, "c": np.sin(np.arange(90.0))})
    frame["d"] = frame["c"] + frame["b"] + 0.01 * np.cos(np.arange(90.0) ** 2)
    frame["label"] = pd.Series(["x", "y", "x"] * 30, dtype=object)
    table = make_table(of_frame("pairs", frame), "label")
    found = dependent_columns(data_of(table), first(table, 40))
    assert found.names == ("b", "a", "c", "d")  # as the table orders them: two values, categories, numbers
    assert found.strongest(1)[0][:2] == ("c", "d")
    rows = first(table, 40).train
    again = dependence(table.rows(rows)[0], table.y[rows], model=bayes_model(table))
    assert_array_equal(found.log_bayes_factor, again.log_bayes_factor)
    assert dependent_columns(data_of(synthetic("n")), first(synthetic("n"), 20)) is None  # a single column has no pair


@pytest.mark.slow
def test_robustness_is_said_of_the_test_rows():
    data, split = data_of(synthetic("bc")), first(synthetic("bc"), 40)
    (X, y), (X_test, y_test) = (data.rows(rows) for rows in split)
    post = nb.fit_posterior(data.bayes, X, y)
    scores = set_scores(nb.decide_set(post, X_test).sets, y_test)
    shares = ", ".join(f"{name} {scores[name]:.3f}" for name in ("determinacy", "u65", "u80"))
    right = (post.predict(X_test) == y_test).mean()
    expected = f"n = 40: {nb.robustness(post, X_test).sentence()}. With s = 1: accuracy {right:.3f}, {shares}."
    assert say_robustness(data, split) == f"Full Bayes on the first split, {expected}"


@pytest.mark.slow
def test_nuts_agrees_with_the_exact_posterior():
    check = check_with_nuts(data_of(synthetic("bn")), first(synthetic("bn"), 40))
    assert (check.size, check.num_rows, check.num_draws) == (40, 36, 500 * check.num_chains)
    assert check.num_divergences == 0
    assert check.max_r_hat < 1.02
    # a probability has standard deviation below 1/2, so five standard errors of a mean of ESS draws are
    assert 0 < check.max_difference < 5 * 0.5 / np.sqrt(check.min_ess)


def test_many_parameters_beside_few_fits_are_not_checked_unless_asked():
    few = data_of(synthetic("bn", rows=60))
    assert too_long_for_nuts(few, 44) is None
    assert "with 11 free parameters it would take long beside 43 fits: --nuts" in too_long_for_nuts(few, 43)
    wide = pd.DataFrame({f"x{d}": np.sin(np.arange(60) * (d + 1)) for d in range(100)} | {"y": ["a", "b"] * 30})
    assert "with 401 free parameters" in too_long_for_nuts(data_of(make_table(of_frame("wide", wide), "y")), 1600)
