"""What is asked of a study is checked before anything is read."""

import pytest

from bayesnb.studies.comparison._asked import check_groups, check_metrics, check_sizes, names_of
from bayesnb.tables.frames._values import DataError


def test_what_a_study_takes():
    assert names_of(["iris", "data/adult.csv:income", "more/rows.2020.parquet"]) == ["iris", "adult", "rows.2020"]
    assert (check_sizes(None), check_sizes(16), check_sizes((16, 32))) == (None, [16], [16, 32])
    assert (check_metrics("auc"), check_metrics(["u65", "ece"])) == (("auc",), ("u65", "ece"))
    check_groups(["iris"], ["wine", "iris"])


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: names_of(["a/x.csv:y", "iris", "b/x.csv"]), "'a/x.csv:y' and 'b/x.csv' would both be set 'x'"),
        (lambda: check_sizes([]), "whole numbers of training rows"),
        (lambda: check_sizes([1.5]), "whole numbers of training rows"),
        (lambda: check_sizes([16, True]), "whole numbers of training rows"),
        (lambda: check_sizes([1]), "the smallest is 2"),
        (lambda: check_metrics([]), "at least one metric"),
        (lambda: check_metrics(["acuracy"]), "no metric 'acuracy' .* did you mean 'accuracy'"),
        (lambda: check_groups(["irs"], ["iris"]), "there is no set 'irs'; did you mean 'iris'"),
    ],
)
def test_what_it_does_not_take_is_refused_in_a_sentence(call, words):
    with pytest.raises(DataError, match=words):
        call()
