"""Leave-one-out log probabilities in ArviZ: its comparison, row for row."""

import arviz as az
import numpy as np
import pytest
from numpy.testing import assert_allclose

import bayesnb as nb
from bayesnb.comparison._elpd import elpd_data
from bayesnb.comparison._metrics import LOG_SMALLEST
from bayesnb.comparison._paired import pointwise


@pytest.fixture(scope="module")
def rows():
    """log p(y_i | x_i, D without i) of two priors, and one with an impossible row."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 150)
    X = rng.normal(y[:, None], 1.0, (150, 3))
    models = {"wide": nb.NaiveBayes(nb.Normal()), "narrow": nb.NaiveBayes(nb.Normal(strength=50.0, shape=20.0))}
    found = {name: nb.leave_one_out(model, X, y)[np.arange(150), y] for name, model in models.items()}
    return found | {"impossible": np.where(np.arange(150) == 3, -np.inf, found["wide"] - 0.01)}


@pytest.mark.filterwarnings("ignore:The inplace keyword")  # ArviZ 0.23 with pandas 3
def test_arviz_compares_what_we_do_row_for_row(rows):
    unrounded = {"round_to": "none"} if hasattr(az, "ELPDDataLOO") else {}
    table = az.compare({name: elpd_data(values) for name, values in rows.items()}, **unrounded)
    capped = {name: np.maximum(values, LOG_SMALLEST) for name, values in rows.items()}
    best = max(capped, key=lambda name: capped[name].sum())
    assert table.index[0] == best
    for name in table.index:
        found, row = pointwise(capped[best] - capped[name]), table.loc[name].astype(object)
        assert_allclose(float(row.get("elpd", row.get("elpd_loo"))), capped[name].sum())
        assert_allclose(abs(float(row["elpd_diff"])), 150 * found.mean, atol=1e-12)
        assert_allclose(float(row["dse"]), 150 * found.error * np.sqrt(149 / 150), atol=1e-12)  # ArviZ divides by N


def test_exact_rows_have_no_pareto_k(rows):
    found = elpd_data(rows["wide"])
    assert float(found.pareto_k.max()) == 0
    assert "elpd" in str(found).lower() or "loo" in str(found).lower()
