"""The files of a study, and its page."""

import numpy as np
import pandas as pd

import bayesnb as nb
from bayesnb.report._study_page import write_study


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
