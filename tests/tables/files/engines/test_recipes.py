"""The recipes of the page on clusters, run as they are printed."""

import os
import re
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import bayesnb as nb

ROOT = Path(__file__).parents[4]
PAGE = (ROOT / "docs" / "how_to" / "clusters.md").read_text(encoding="utf-8")
RECIPES = re.findall(r"^```py\n(.*?)^```", PAGE, flags=re.M | re.S)
FITS, PREDICTIONS = ([one for one in RECIPES if ("clf = nb.fit_table" in one) == fits] for fits in (True, False))

pytestmark = pytest.mark.filterwarnings("ignore")  # the clusters' own


@pytest.fixture
def paths(tmp_path, monkeypatch):
    """Four parts, one without rows, and one with a single class."""
    rng = np.random.default_rng(0)
    y = np.sort(rng.choice(["a", "b"], 300))
    rows = pl.DataFrame({"size": rng.normal(y == "b", 1.0), "kind": y})
    parts = [rows[:50], rows[50:50], rows[50:200], rows[200:]]
    for place, part in enumerate(parts):
        part.write_parquet(tmp_path / f"{place}.parquet")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(ROOT), prepend=os.pathsep)
    return [str(tmp_path / f"{place}.parquet") for place in range(4)]


@pytest.fixture
def spark(monkeypatch):
    """A session, which the recipes' own builder finds."""
    if shutil.which("java") is None:
        pytest.skip("Java is not installed")
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    builder = pytest.importorskip("pyspark.sql", reason="pyspark is an extra").SparkSession.builder.master("local[2]")
    session = builder.config("spark.ui.enabled", "false").config("spark.driver.memory", "1g").getOrCreate()
    yield session
    session.stop()


def package_of(recipe):
    return re.search(r"(?:from|import) (\w+)", recipe)[1]


def run(*recipes, **given):
    scope = {"nb": nb, "np": np, "pa": pa, "pd": pd, **given}
    for recipe in recipes:
        assert len(recipe.splitlines()) <= 15
        exec(recipe, scope)
    return scope


def assert_fit_of_all_rows(found, paths):
    wanted = nb.fit_table(paths, "kind")
    assert found.class_count_.tolist() == wanted.class_count_.tolist()
    new = pl.DataFrame({"size": [-1.0, 0.3, 2.0]})
    np.testing.assert_allclose(found.predict_proba(new), wanted.predict_proba(new), atol=1e-6)


SLOW = ("distributed", "ray", "pyspark", "jax")
"""These start processes."""


@pytest.mark.parametrize(
    "recipe",
    [pytest.param(one, marks=pytest.mark.slow if package_of(one) in SLOW else (), id=package_of(one)) for one in FITS],
)
def test_a_recipe_gives_the_fit_of_all_rows(recipe, paths, request):
    name = package_of(recipe)
    package = pytest.importorskip("dask.bag" if name == "dask" else name, reason=f"{name} is an extra")
    if name == "pyspark":
        request.getfixturevalue("spark")
    if name == "ray":
        package.init(num_cpus=2, include_dashboard=False, object_store_memory=3e8, log_to_driver=False)
        request.addfinalizer(package.shutdown)
    found = run_in_processes(recipe, paths) if name == "jax" else run(recipe, paths=paths)["clf"]
    assert_fit_of_all_rows(found, paths)


def run_in_processes(recipe, paths):
    """Four processes of JAX."""
    with socket.socket() as free:
        free.bind(("localhost", 0))
        address = f"localhost:{free.getsockname()[1]}"
    lines = [
        "import sys, numpy as np, bayesnb as nb",
        f"address, process, paths = {address!r}, int(sys.argv[1]), {paths}",
    ]
    script = "\n".join([*lines, recipe, "nb.save(clf, f'{process}.nb')"])
    started = [subprocess.Popen([sys.executable, "-c", script, str(process)]) for process in range(4)]
    try:
        assert [one.wait(timeout=240) for one in started] == [0] * 4
    finally:
        for one in started:
            one.kill()
    return nb.load("3.nb")


PARTITIONS, *MLFLOW, IN_SPARK = PREDICTIONS


def test_partitions_of_dask_are_predicted(paths):
    pytest.importorskip("dask.dataframe", reason="dask is an extra")
    clf = nb.fit_table(paths, "kind")
    found = run(PARTITIONS, paths=paths, clf=clf)["found"].compute()
    np.testing.assert_allclose(found[["p(a)", "p(b)"]], clf.predict_proba(pl.read_parquet(paths).select("size")))


@pytest.mark.slow
def test_mlflow_keeps_a_fit_and_spark_predicts_with_it(paths, monkeypatch, request):
    pytest.importorskip("mlflow", reason="mlflow is an extra")
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")  # others need more than mlflow-skinny
    monkeypatch.setenv("MLFLOW_TRACKING_URI", Path("runs").absolute().as_uri())
    clf, rows = nb.fit_table(paths, "kind"), pl.read_parquet(paths).select("size").to_pandas()
    found = run(*MLFLOW, paths=paths, clf=clf)
    for model in (found["model"], found["load_model"]("scores")):
        np.testing.assert_allclose(model.predict(rows), clf.predict_proba(rows))
    scores = run(IN_SPARK, paths=paths, spark=request.getfixturevalue("spark"))["found"].toPandas()
    np.testing.assert_allclose(np.stack(scores["probabilities"]), clf.predict_proba(scores[["size"]]))
