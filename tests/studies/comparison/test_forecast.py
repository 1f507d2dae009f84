"""Forecasts of studies by a made-up clock."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from bayesnb.studies.comparison._forecast import Forecast, in_words
from bayesnb.studies.comparison._scored_cells import Place

SECONDS = {"MLE": 0.1, "NUTS": 6.0, "default": 0.5}
PLACES = [Place("a", split, n, method) for split in range(10) for n in (20, 200) for method in SECONDS]


def cost(place, rng):
    """A cell of 200 rows takes twice as long as one of 20; a first one compiles for a minute."""
    own = SECONDS[place.method] * (1 + (place.size == 200)) * rng.uniform(0.7, 1.4)
    return own + 60.0 * (place.split == 0)


@pytest.mark.parametrize("seed", range(10))
def test_the_first_forecast_is_within_a_factor_of_two(seed):
    rng, forecast, silent = np.random.default_rng(seed), Forecast(PLACES), 0
    seconds = [cost(place, rng) for place in PLACES]
    for number, (place, own) in enumerate(zip(PLACES, seconds, strict=True), start=1):
        forecast.add(place, own)
        left = forecast.left()
        if left is None:
            silent = number
        elif number == silent + 1:
            assert 0.5 < left / sum(seconds[number:]) < 2.0
    assert silent == 2 * 2 * len(SECONDS) - 1  # two splits, but for the last cell of the second
    assert left == 0.0


def test_a_set_that_has_not_begun_takes_what_its_methods_took():
    forecast = Forecast([*PLACES[:12], *(Place("b", 0, 50, method) for method in SECONDS)])
    for place in PLACES[:12]:
        forecast.add(place, 2.0)
    assert_allclose(forecast.left(), 6.0)
    assert forecast.words() == "; about 6 s left"


def test_nothing_is_said_of_a_method_that_only_compiled():
    forecast = Forecast(PLACES)
    for place in PLACES[:6]:
        forecast.add(place, 60.0)
    assert (forecast.left(), forecast.words()) == (None, "")


def test_times_in_words():
    assert [in_words(seconds) for seconds in (0.4, 99, 120, 7200)] == ["0 s", "99 s", "2 min", "2.0 h"]
