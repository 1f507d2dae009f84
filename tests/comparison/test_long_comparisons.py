"""Comparisons that take long: forecasts, stopping, methods by name, and when NUTS is left out."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from bayesnb.comparison.compare import Forecast, compare
from bayesnb.comparison.experiment import Experiment
from bayesnb.comparison.first_split import too_long_for_nuts
from bayesnb.files.description import make_table
from bayesnb.files.sources.paths import of_frame
from bayesnb.frames.series import DataError
from bayesnb.report.summary import _say_where_it_stopped
from tests.comparisons import QUICK, synthetic


@pytest.mark.parametrize("error", [KeyboardInterrupt(), MemoryError(), ValueError("too much")], ids=str)
def test_a_stopped_comparison_has_the_sizes_that_are_complete(error):
    table = synthetic()
    whole = compare(Experiment(table, (10,), 4, 1), methods=QUICK)

    def stop(size, method):
        if (size, method) == (at, "MAP"):
            raise error

    at = 84
    result = compare(Experiment(table, (10, 84), 4, 1), stop, QUICK)
    assert result.sizes == (10,)
    assert result.stopped == {"": "interrupted", "too much": "too much"}.get(str(error)) or "out of memory"
    assert_array_equal(result.values(10, "MLE", "brier"), whole.values(10, "MLE", "brier"))
    assert len(result.records) == 4 * len(QUICK)
    assert whole.stopped is None
    at = 10
    with pytest.raises(type(error)):
        compare(Experiment(table, (10, 84), 4, 1), stop, QUICK)


def test_stopped_at_its_first_size_it_has_the_splits_that_are_complete():
    whole, fits, methods = compare(Experiment(synthetic(), (10,), 2, 1), methods=QUICK), [], len(QUICK)

    def stop(*fit):
        fits.append(fit)
        if len(fits) == 2 * methods + 1:
            raise KeyboardInterrupt

    result = compare(Experiment(synthetic(), (10, 84), 4, 1), stop, QUICK)
    assert (result.sizes, result.repeats, result.some_splits, result.stopped) == ((10,), 2, True, "interrupted")
    assert [record.method for record in result.records] == [name for name in QUICK for _ in range(2)]
    for name in QUICK:
        assert_array_equal(result.values(10, name, "brier"), whole.values(10, name, "brier"))
    assert "stopped at n = 10 after 2 splits (interrupted)" in _say_where_it_stopped(result)


def test_after_each_size_there_are_the_scores_so_far():
    sizes = []
    result = compare(Experiment(synthetic(), (10, 84), 2, 1), methods=QUICK, on_size=sizes.append)
    assert [one.sizes for one in sizes] == [(10,), (10, 84)]
    assert sizes[0].records == result.records[: 2 * len(QUICK)]
    assert (sizes[1].records, result.stopped, result.some_splits) == (result.records, None, False)


def test_a_forecast_is_a_line_through_the_times():
    forecast = Forecast((20, 100_000), 3, {"MLE": None, "MAP": None, "tempered": 20_000})
    for size, seconds in ((20, 1.0), (100, 1.8)):  # 0.8 + 0.01 n
        forecast.add(size, "MLE", seconds)
        forecast.add(size, "tempered", seconds)
        forecast.add(size, "MAP", 2.0)
    assert_allclose(forecast.seconds_left(), 3 * (1.0 + 1000.8) + 3 * (1.0 + 200.8) + 6 * 2.0)
    forecast.finish(100_000, "MLE")
    assert_allclose(forecast.seconds_left(), 3 * 1.0 + 2 * 1000.8 + 3 * (1.0 + 200.8) + 6 * 2.0)


def test_forecasts_come_before_the_first_fit_and_after_every_size():
    seconds, probed = [], []
    experiment = Experiment(synthetic("b", rows=40), (5, 10), 3, 0)
    compare(experiment, methods=QUICK, on_forecast=seconds.append, on_probe=lambda *step: probed.append(step))
    assert len(seconds) == 2
    assert seconds[0] > 0
    assert probed == [(size, method) for size in (5, 10) for method in QUICK]


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        ("posterior", "called 'full Bayes'"), ("temper", "called 'tempered'"), ("per_feature", "'feature weights'"),
        ("empirical", "'learned prior'"), ("map", "did you mean 'MAP'"), ("nuts", "--nuts"),
        ("svm", "there is no method"),
    ],
)  # fmt: skip
def test_methods_of_other_names_are_pointed_at(name, advice):
    with pytest.raises(DataError, match=advice):
        compare(Experiment(synthetic("b", rows=40), (5,), 1, 0), methods=("full Bayes", name))
    with pytest.raises(DataError, match="must include 'full Bayes'"):
        compare(Experiment(synthetic("b", rows=40), (5,), 1, 0), methods=("MLE",))


def test_many_parameters_beside_few_fits_are_not_checked_unless_asked():
    few = Experiment(synthetic("bn", rows=60), (20,), 1, 0)
    assert too_long_for_nuts(few, 44) is None
    assert "with 11 free parameters it would take long beside 43 fits: --nuts" in too_long_for_nuts(few, 43)
    wide = pd.DataFrame({f"x{d}": np.sin(np.arange(60) * (d + 1)) for d in range(100)} | {"y": ["a", "b"] * 30})
    first = Experiment(make_table(of_frame("wide", wide), "y"), (20,), 1, 0)
    assert "with 401 free parameters" in too_long_for_nuts(first, 1600)
