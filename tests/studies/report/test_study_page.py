"""The files of a study, and its page."""

import numpy as np
import pandas as pd
from numpy.testing import assert_allclose

import bayesnb as nb
from bayesnb.studies.report._study_page import write_study


def broken(*_):
    raise ValueError("<no> answer")


def test_the_page_has_scores_differences_and_reasons(tmp_path):
    X = np.random.default_rng(0).normal(size=(60, 2))
    sets = {"a & b": (X, np.arange(60) % 2)}
    study = nb.experiment(sets, ["MLE", ("broken", broken), "MAP"], sizes=[16], splits=2)
    names = write_study(study, tmp_path, "MLE", 0.01)
    assert sorted(names) == sorted(path.name for path in tmp_path.iterdir())
    page = (tmp_path / "report.html").read_text()
    assert "3 methods on a &amp; b" in page
    assert "ValueError: &lt;no&gt; answer" in page
    assert "<no>" not in page
    assert len(pd.read_csv(tmp_path / "differences.csv")) == 2


def test_curves_of_more_than_thirty_sets_are_several_pictures(tmp_path, monkeypatch):
    monkeypatch.setattr("bayesnb.studies.plots._studies.PANELS", 2)
    X = np.random.default_rng(0).normal(size=(60, 2))
    sets = {name: (X + place, np.arange(60) % 2) for place, name in enumerate("abc")}
    names = write_study(nb.experiment(sets, ["MLE", "MAP"], sizes=[16], splits=2), tmp_path, "MLE", 0.01)
    assert [name for name in names if name.startswith("curves")] == ["curves.png", "curves-2.png"]
    assert (tmp_path / "report.html").read_text().count("data:image/png;base64") == 2
    table = pd.read_csv(tmp_path / "differences.csv").set_index("data_set")
    assert_allclose(table.loc["all sets", "mean"], table.loc[["a", "b", "c"], "mean"].mean())
    assert "<th>posterior_mean</th>" in (tmp_path / "report.html").read_text()
