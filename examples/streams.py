# %% [markdown]
"""Rows that do not fit into memory: read once, a block at a time, and stop and continue where it stopped.

    statistics(all rows) = statistics(block 1) + ... + statistics(block B),    posterior = update(statistics)

A fit needs sums over rows and nothing else of them, so that a file of any size is read once and no block is kept. Any
split into blocks gives the fit of all rows, which is checked here against a fit in memory. Parts are saved as
they are counted: a run that was stopped counts no row twice. Rows may come as a Parquet or CSV file, a folder of files,
an Arrow dataset, or an iterator of numpy blocks.

Source: Chan, Golub and LeVeque, Updating formulae and a pairwise algorithm for computing sample variances (1979), for
the merge of means and variances.
"""

# %%
from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.testing import assert_allclose

import bayesnb as nb

# %% [markdown]
# **Blocks** from wherever rows come: a generator that makes them, reads them from a socket, or asks a database. K is
# declared, as one block may lack a class.

# %%
ROWS, BLOCKS = 10_000, 20


def blocks() -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Rows [N, 3] and labels [N], a block at a time; the same rows at every call."""
    for number in range(BLOCKS):
        rng = np.random.default_rng(number)
        y = rng.integers(0, 2, ROWS)
        yield rng.normal(1e4 + y[:, None], [1.0, 2.0, 4.0], (ROWS, 3)), y


model = nb.NaiveBayes(nb.Normal(), num_classes=2)
statistics = nb.stream(model, blocks())
post = nb.fit_posterior(model, statistics=statistics)
print(post)

# %% [markdown]
# **The same as in memory**, to rounding: means and variances are merged, not sums of squares, so that 1e4 beside a
# spread of one costs no digits.

# %%
X, y = (np.concatenate(parts) for parts in zip(*blocks(), strict=True))
whole = nb.fit_posterior(model, X, y)
assert_allclose(post.predict_proba(X[:5]), whole.predict_proba(X[:5]), rtol=1e-9)
assert_allclose(post.log_evidence, whole.log_evidence, rtol=1e-9)
print(f"log evidence {post.log_evidence:.6f} from {BLOCKS} blocks, {whole.log_evidence:.6f} from all rows at once")

# %% [markdown]
# **A run that stops.** Here the third block is broken. The blocks before it have been saved; once the cause is mended
# the same lines count those that are not there, and `nb.merge` takes none twice.


# %%
def broken() -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """The same blocks, the third of which cannot be read."""
    for number, block in enumerate(blocks()):
        if number == 2:
            raise OSError("the disk does not answer")
        yield block


def count(source: Iterator[tuple[np.ndarray, np.ndarray]], folder: Path) -> nb.ModelStatistics:
    """The statistics of all blocks, each of which is saved when it is counted."""
    for number, (x, labels) in enumerate(source):
        if not (place := folder / f"{number}.safetensors").exists():
            nb.save(nb.sufficient_statistics(model, x, labels), place)
    return nb.merge({place.name: nb.load(place) for place in folder.glob("*.safetensors")})


with tempfile.TemporaryDirectory() as folder:
    try:
        count(broken(), Path(folder))
    except OSError as error:
        print("stopped:", error)
    continued = count(blocks(), Path(folder))
assert_allclose(continued.class_counts, statistics.class_counts)
print("continued:", continued.class_counts, "rows of each class")

# %% [markdown]
# **Files.** `nb.fit_file` reads CSV and Parquet with text, numbers and missing cells, and chooses a likelihood for each
# column from the first batch of rows; `bayesnb fit` is the same on the command line.

# %%
with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "measurements.parquet"
    frame = pd.DataFrame(X[:50_000], columns=["width", "height", "weight"])
    frame.assign(species=np.where(y[:50_000] == 1, "b", "a")).to_parquet(path)
    classifier = nb.fit_file(path, target="species")
    print(classifier.likelihoods_)
    print(classifier.predict_proba(frame[:2]).round(3))
