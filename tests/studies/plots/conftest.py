"""Axes to draw in, and a fit of Normal columns."""

import pytest
from matplotlib.figure import Figure

import bayesnb as nb
from tests import cases


@pytest.fixture
def ax():
    return Figure().subplots()


@pytest.fixture(scope="module")
def normal():
    case = cases.make("informed")
    return nb.fit_posterior(case.model, case.X, case.y), case


def ticks(axis):
    return [label.get_text() for label in axis.get_ticklabels()]
