"""A study made of random losses, for what shows studies."""

from types import SimpleNamespace

import numpy as np
import pandas as pd

METHODS = ["MLE", "MAP", "full Bayes"]
METRICS = ("log_loss", "brier", "accuracy")


def random_study(**far: float) -> SimpleNamespace:
    """Three sets, two sizes, of which the second is most of the pool; MAP failed on split 1 of the first set.

    ``far`` has a number for some sets, which is added to the losses of the MLE.
    """
    rng = np.random.default_rng(0)
    table = {
        (data_set, size, method, metric): np.abs(rng.normal(1 + place, 0.3, (6, 1)) + rng.normal(0, 0.2, (6, 25)))
        + (far.get(data_set, 0.0) if method == "MLE" else 0.0)
        for data_set in ("a", "b", "c")
        for size in (16, 64)
        for place, method in enumerate(METHODS)
        for metric in METRICS
    }
    for metric in METRICS:
        table["a", 16, "MAP", metric][1] = np.nan
    rows = [
        (data_set, split, size, method, "ece" if metric == "brier" else metric, float(loss.mean()))
        for (data_set, size, method, metric), losses in table.items()
        for split, loss in enumerate(losses)
    ]
    frame = pd.DataFrame(rows, columns=["data_set", "split", "size", "method", "metric", "value"])

    def scores(metric: str = "log_loss", size: int | None = None) -> pd.DataFrame:
        some = frame[(frame["metric"] == metric) & (frame["size"] == (size or 64))]
        means = some.groupby(["data_set", "method"])["value"].agg(lambda values: values.mean(skipna=False))
        return means.unstack()[METHODS]

    return SimpleNamespace(
        methods=METHODS,
        sets=["a", "b", "c"],
        sizes=lambda _: [16, 64],
        splits=lambda _: [None] * 6,
        pool=lambda _: 100,
        num_test=lambda _: 25,
        design_of=lambda _, size: "crossed" if size <= 50 else "resplit",
        losses=lambda *place: table[place],
        values=lambda *place: table[(*place[:3], "brier")].mean(axis=1),
        frame=lambda: frame,
        scores=scores,
    )
