"""A few plain rows have the codes that the same rows have in a long frame; test_rows.py of the estimator tries many."""

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

import bayesnb as nb
from bayesnb.compute.arrays import _limits as limits

FRAME = pd.DataFrame({
    "colour": ["red", "blue", None, "red", "blue", "red"], "ill": [True, False, True, True, False, False],
    "age": [1.5, 20.0, np.nan, 3.0, 4.0, -2.0], "visits": [0, 1, 5, 2, 2, 7],
})  # fmt: skip
KINDS = {"colour": "categorical", "ill": "bernoulli", "age": "normal", "visits": "poisson"}
SCHEMA = nb.NaiveBayesClassifier(KINDS, temper=False).fit(FRAME, [0, 1, 0, 1, 0, 1]).schema_
REPEATS = limits.ROWS_ONE_BY_ONE  # so many copies of the rows are not few


@pytest.mark.parametrize("row", range(len(FRAME)))
def test_a_row_is_encoded_as_in_a_long_frame(row):
    long = pd.concat([FRAME] * REPEATS, ignore_index=True)
    assert SCHEMA.plain.encode(long) is None
    expected = {block: x[row : row + 1] for block, x in SCHEMA.encode(nw.from_native(long)).items()}
    for given in (FRAME[row : row + 1], FRAME.iloc[row].to_dict(), [FRAME.iloc[row].to_dict()]):
        found = SCHEMA.plain.encode(given)
        assert found.keys() == expected.keys()
        for block, x in expected.items():
            assert_array_equal(found[block], x, err_msg=block)


@pytest.mark.parametrize("cell", [1e300, np.inf, "old", [1.0]])
def test_what_is_not_plain_is_left_to_the_schema(cell):
    assert SCHEMA.plain.encode(FRAME.iloc[0].to_dict() | {"age": cell}) is None
