# %% [markdown]
"""From a laptop with DuckDB to a cluster with Spark: the engine counts the rows, by the same lines.

    p(y = k given x) is proportional to p(k) prod_d p(x_d | k):  sums of the rows are all that a fit needs

Only the line that opens the table is another. On a laptop DuckDB reads files that are larger than memory:

    python in_the_engine.py --rows "clicks/*.parquet" --target bought
    spark-submit in_the_engine.py --engine Spark --rows s3a://shop/clicks --target bought

Without ``--rows`` the program makes some, and checks that the probabilities are those of a fit in memory. What leaves
the engine are sums and counts by class, and a sample of at most 50,000 rows, in which powers are learned. Predictions
read the rows block by block.

DuckDB is needed: `pip install duckdb`; for Spark, pyspark and Java. Source: none for these numbers; they are checked.
"""

# %%
from __future__ import annotations

import argparse
import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import bayesnb as nb

# %% [markdown]
# **The line for each engine.** A query may filter, join and compute columns; nothing runs until the fit asks.


# %%
def open_table(engine: str, rows: str) -> Any:
    """A query of an engine."""
    if engine == "Spark":
        from pyspark.sql import SparkSession

        return SparkSession.builder.getOrCreate().read.parquet(rows)
    import duckdb

    return duckdb.read_parquet(rows)


# %% [markdown]
# **Fit and predict**, whatever the engine. Columns that should not count, such as keys, are skipped.


# %%
def fit_and_predict(query: Any, target: str, key: str, to: Path) -> nb.NaiveBayesClassifier:
    """A fit; the predictions for the same rows are written to a file, in constant memory."""
    clf = nb.fit_table(query, target, {key: "skip"}, where="engine", dependence=False)
    with warnings.catch_warnings(action="ignore"):  # the target is there, and left out
        nb.predict_table(clf, query, keep=[key], to=to)
    return clf


# %% [markdown]
# **Some rows**, if there are no others: visits to a shop, of which a few end in a purchase.


# %%
def make_rows(folder: str, num_rows: int = 5000) -> str:
    """The path of a Parquet file of visits."""
    rng = np.random.default_rng(0)
    bought = rng.random(num_rows) < 0.1
    columns = {
        "visit": np.arange(num_rows),
        "minutes": rng.gamma(2.0 + bought, 2.0),
        "pages": rng.poisson(3 + 2 * bought),
        "shop": rng.choice(["Aa", "Bern", "Como"], num_rows),
        "bought": np.where(bought, "yes", "no"),
    }
    path = str(Path(folder) / "visits.parquet")
    pd.DataFrame(columns).to_parquet(path)
    return path


# %% [markdown]
# **All of it.** A fit in memory counts the same rows, and has the same powers, which are learned on all of so few.

# %%
options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
options.add_argument("--engine", choices=["DuckDB", "Spark"], default="DuckDB")
options.add_argument("--rows", help="Parquet files; without them some rows are made")
options.add_argument("--target", default="bought", help="the column of classes (%(default)s)")
options.add_argument("--key", default="visit", help="a column that tells rows apart (%(default)s)")

if __name__ == "__main__":
    chosen = options.parse_known_args()[0]  # of a notebook the arguments are not ours
    with tempfile.TemporaryDirectory() as folder:
        path = chosen.rows or make_rows(folder)
        out = Path(folder) / "scores.parquet"
        clf = fit_and_predict(open_table(chosen.engine, path), chosen.target, chosen.key, out)
        scored = pd.read_parquet(out).sort_values(chosen.key)
        print(f"{chosen.engine}: {clf.class_count_.sum():,.0f} rows; {clf.learned_.summary}")
        print(scored.head(3))
        if chosen.rows is None:
            frame = pd.read_parquet(path)
            X, y = frame.drop(columns=chosen.target), frame[chosen.target]
            wanted = nb.NaiveBayesClassifier({chosen.key: "skip"}, dependence=False).fit(X, y).predict_proba(X)
            gap = np.abs(scored["p(yes)"].to_numpy() - wanted[:, 1]).max()
            if not gap < 1e-9:
                raise SystemExit(f"the probabilities differ from those of a fit in memory by {gap:.1e}")
            print("known answer: the probabilities are those of a fit in memory")
