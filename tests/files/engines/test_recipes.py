"""The recipes of the page on clusters, run as they are printed."""

import re
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import bayesnb as nb

PAGE = (Path(__file__).parents[3] / "docs" / "how_to" / "clusters.md").read_text(encoding="utf-8")
RECIPES = re.findall(r"^```py\n(.*?)^```", PAGE, flags=re.M | re.S)


@pytest.fixture
def paths(tmp_path):
    """Four parts, one without rows, and one with a single class."""
    rng = np.random.default_rng(0)
    y = np.sort(rng.choice(["a", "b"], 300))
    rows = pl.DataFrame({"size": rng.normal(y == "b", 1.0), "kind": y})
    parts = [rows[:50], rows[50:50], rows[50:200], rows[200:]]
    for place, part in enumerate(parts):
        part.write_parquet(tmp_path / f"{place}.parquet")
    return [str(tmp_path / f"{place}.parquet") for place in range(4)]


def package_of(recipe):
    return re.search(r"(?:from|import) (\w+)", recipe)[1]


SLOW = ("distributed", "ray")
"""These start processes."""


@pytest.mark.filterwarnings("ignore")  # Ray's and Dask's own
@pytest.mark.parametrize(
    "recipe",
    [
        pytest.param(one, marks=pytest.mark.slow if package_of(one) in SLOW else (), id=package_of(one))
        for one in RECIPES
    ],
)
def test_a_recipe_gives_the_fit_of_all_rows(recipe, paths):
    name = package_of(recipe)
    package = pytest.importorskip("dask.bag" if name == "dask" else name, reason=f"{name} is an extra")
    if name == "ray":
        package.init(num_cpus=2, include_dashboard=False, object_store_memory=3e8, log_to_driver=False)
    assert len(recipe.splitlines()) <= 15
    scope = {"nb": nb, "paths": paths}
    exec(recipe, scope)
    wanted = nb.fit_table(paths, "kind")
    assert scope["clf"].class_count_.tolist() == wanted.class_count_.tolist()
    for one in (-1.0, 0.3, 2.0):
        found, expected = (clf.predict_proba({"size": one}) for clf in (scope["clf"], wanted))
        np.testing.assert_allclose(found, expected, atol=0.1 if name == "duckdb" else 1e-6)  # without dependence
