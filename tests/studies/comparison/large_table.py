"""A generated table of the size at which comparisons used to run for hours: 494,000 rows, 42 columns, 23 classes."""

import sys

import numpy as np
import pandas as pd

ROWS, CLASSES = 494_000, 23
WORDS = (3, 66, 11)
"""Numbers of categories of the columns of text."""
FLAGS, CODES, COUNTS = 7, 2, 29


def large_frame(rows: int = ROWS, seed: int = 0) -> pd.DataFrame:
    """Text, flags, codes and skewed numbers that depend on the class ``label``, whose rarest value has two rows."""
    rng = np.random.default_rng(seed)
    sizes = np.maximum(2, rows * 0.5 ** np.arange(1, CLASSES + 1)).astype(int)
    y = rng.permutation(np.repeat(np.arange(CLASSES), [rows - sizes[1:].sum(), *sizes[1:]]))
    columns: dict[str, object] = {}
    for i, size in enumerate(WORDS):
        code = np.where(rng.uniform(size=rows) < 0.6, rng.integers(0, size, CLASSES)[y], rng.integers(0, size, rows))
        columns[f"text_{i}"] = np.array([f"word {c}" for c in range(size)], dtype=object)[code]
    for i in range(FLAGS):
        columns[f"flag_{i}"] = (rng.uniform(size=rows) < rng.beta(0.3, 0.6, CLASSES)[y]).astype(int)
    for i in range(CODES):
        columns[f"code_{i}"] = rng.binomial(5, rng.uniform(size=CLASSES)[y])
    shared = rng.normal(size=rows)
    for i in range(COUNTS):
        loc, noise = rng.normal(3.0, 2.0, CLASSES)[y], rng.normal(size=rows)
        columns[f"count_{i}"] = np.floor(np.exp(np.clip(loc + shared + noise, -1.0, 15.0)))
    columns["label"] = np.array([f"class {k}" for k in range(CLASSES)], dtype=object)[y]
    return pd.DataFrame(columns)


if __name__ == "__main__":
    large_frame().to_csv(sys.argv[1], index=False)
