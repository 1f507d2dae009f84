"""The rows of the tests of files: in memory, and in every form that a stream reads."""

from functools import cache

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
from pyarrow import csv

import bayesnb as nb

N, D, K = 400, 3, 3
NAMES = ["first", "second", "third"]
SPECIES = np.array(["setosa", "virginica", "versicolor"])
NORMAL = nb.NaiveBayes(nb.Normal())

_rng = np.random.default_rng(20)
X = _rng.normal(size=(N, D)) + 1e4
X[_rng.random((N, D)) < 0.1] = np.nan
Y = _rng.integers(0, K, N)
TABLE = pa.table({**{name: X[:, d] for d, name in enumerate(NAMES)}, "species": Y})


@cache
def whole():
    """The statistics of all rows at once."""
    return nb.sufficient_statistics(NORMAL, X, Y)


def in_words(table, y):
    """The table with labels of text."""
    return table.set_column(D, "species", pa.array(SPECIES[y]))


def sources(table, folder):
    """The same rows in every form."""
    single, many, comma = folder / "rows.parquet", folder / "many", folder / "rows.csv"
    pq.write_table(table, single, row_group_size=100)
    (many / "deep").mkdir(parents=True)
    pq.write_table(table[:150], many / "a.parquet")
    pq.write_table(table[150:170], many / "b.pq")
    pq.write_table(table[170:], many / "deep" / "c.parquet", row_group_size=7)
    (many / "README.txt").write_text("not data")
    (many / "_metadata.parquet").write_text("not data")
    csv.write_csv(table, comma)
    return {
        "file": single,
        "text path": str(single),
        "folder": many,
        "csv": comma,
        "dataset": ds.dataset(single),
        "table": table,
        "batch": table.combine_chunks().to_batches()[0],
        "union": ds.dataset([ds.dataset(table[:100]), ds.dataset(table[100:])]),
    }


FORMS = ["file", "text path", "folder", "csv", "dataset", "table", "batch", "union"]
