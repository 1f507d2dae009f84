"""Exact leave-one-out log probabilities as ArviZ has them, for its ``compare`` and its plots."""

from __future__ import annotations

from typing import Any

import numpy as np

from bayesnb.arrays._typing import ArrayLike
from bayesnb.comparison._metrics import LOG_SMALLEST

GOOD_K = 0.7  # of importance sampling in ArviZ, which nothing exact exceeds


def elpd_data(log_proba: ArrayLike) -> Any:
    """The ``ELPDData`` of log p(y_i | x_i, the other rows) [N], each at least -87.3 as in the log loss.

    They are exact, so that every Pareto k is 0, and their effective number of parameters is unknown, NaN. Vehtari,
    Gelman, Gabry, Practical Bayesian model evaluation using leave-one-out cross-validation and WAIC (2017).
    """
    import arviz as az
    import xarray as xr

    rows = xr.DataArray(np.maximum(np.asarray(log_proba, float), LOG_SMALLEST), dims="rows", name="loo_i")
    elpd, se = float(rows.sum()), float(np.sqrt(len(rows) * np.var(rows.to_numpy())))
    about = {
        "n_samples": 1,
        "n_data_points": len(rows),
        "warning": False,
        "pareto_k": xr.zeros_like(rows).rename("pareto_k"),
        "scale": "log",
        "good_k": GOOD_K,
    }
    if hasattr(az, "ELPDDataLOO"):  # ArviZ 1.x
        return az.ELPDDataLOO(elpd=elpd, se=se, p=np.nan, elpd_i=rows, **about)
    from arviz.stats.stats_utils import ELPDData

    named = {"elpd_loo": elpd, "se": se, "p_loo": np.nan, **about, "loo_i": rows}  # it prints the first three
    return ELPDData(data=[*named.values()], index=[*named])
