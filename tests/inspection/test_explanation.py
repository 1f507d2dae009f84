"""Explanations as frames and as HTML hold all parts."""

from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import bayesnb as nb
from bayesnb.inspection._explain import explain
from bayesnb.sklearn._estimator import NaiveBayesClassifier

NAMED = pd.DataFrame({"<b>": list("xyz<") * 5, "n": [None, *np.linspace(0.0, 1.0, 19)]})


@pytest.mark.parametrize("keyed", [False, True])
def test_a_frame_holds_all_parts_and_adds_up(keyed, key):
    clf = NaiveBayesClassifier(temper=False).fit(NAMED, ["a&b", "c", "d<", "c"] * 5)
    found = explain(clf, NAMED[:3], key=key if keyed else None, against="c")
    frame = found.to_frame()
    assert [*frame] == ["row", "class", *nb.results.Contribution._fields]
    for n, row in enumerate(found.log_odds):
        for k, name in enumerate(found.class_names):
            own = frame[(frame["row"] == n) & (frame["class"] == name)]
            assert_allclose(own["log_odds"].sum(), row[k], atol=1e-12)
            parts = found.parts(n, of=name) if k != found.against else []
            assert [*own["name"]] == [part.name for part in parts]
            assert_array_equal(own["log_odds"], [part.log_odds for part in parts])
            assert_array_equal(own["low"], [part.low for part in parts])
    first = frame.iloc[:3].set_index("name")
    assert first.loc["<b>", "value_name"] == "x"
    assert first["low"].notna().all() == keyed


def test_html_is_escaped_and_holds_the_parts():
    clf = NaiveBayesClassifier(temper=False).fit(NAMED, ["a&b", "c", "d<", "c"] * 5)
    found = explain(clf, NAMED[3:5])
    text = found._repr_html_()
    cells = [cell.text for cell in ElementTree.fromstring(f"<div>{text}</div>").iter("td")]
    shown = [*found.parts(count=5), found.total()]
    assert cells == [cell for part in shown for cell in (part.label, f"{part.log_odds:+.3f}")]
    assert "&lt;b&gt; = &lt;" in text
