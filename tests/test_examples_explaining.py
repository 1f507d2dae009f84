"""The example of explanations runs, draws its picture and finds its known answers."""

import pytest


@pytest.mark.slow
def test_explaining(run):
    out = run("explaining", "--train", 60, "--draws", 20)
    assert "known answer: prior and contributions add up to the predicted log odds" in out
    assert "known answer: each contribution is its weight times the log ratio" in out
    assert "P(benign) = " in out
