"""The examples on how sure a fit may be: each runs small, draws its picture and says that its known answer came out."""

import pandas as pd
import pytest


@pytest.mark.parametrize(
    ("name", "args", "files", "answer"),
    [
        (
            "noise_features",
            ["--repeats", 2, "--noise", 30],
            (),
            "the average equals the sum over all 64 subsets of 6 columns",
        ),
        pytest.param(
            "nuts_against_exact",
            ["--samples", 800],
            (),
            "NUTS: 81 means within 5 Monte Carlo standard errors",
            marks=pytest.mark.slow,  # most of its minute is compilation
        ),
        (
            "honest_confidence",
            ["--sets", "wine", "--sizes", 20, "--repeats", 1],
            ("honest_confidence.csv",),
            "with all weights 1 the tempered posterior predicts as the exact one",
        ),
    ],
)
def test_an_example_ends_with_its_known_answer(run, tmp_path, name, args, files, answer):
    assert answer in run(name, *args, files=files)
    for file in files:
        table = pd.read_csv(tmp_path / "pictures" / file)
        assert len(table) == 8
        assert (table[["log_loss", "calibration_error", "accuracy"]] >= 0).all(axis=None)
