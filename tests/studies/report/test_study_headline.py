"""The headline of a study: which method is best where, whether that is settled, and what holds over sets."""

import pandas as pd
import pytest

from bayesnb.studies.report._study_headline import headline

OPEN = "not settled"


def table(than_best, over=None, metric="log_loss", reference="a", sizes=None):
    """Standings by set from the words on each method, "best" for the first; over sets the words on the others."""
    rows = [
        {
            "data_set": name, "size": (sizes or {}).get(name, 64), "method": method, "metric": metric, "rank": 1 + i,
            "best": int(word == "best"), "settled": int(word == "best" and OPEN not in words.values()),
            "than_best": word, "than_reference": "", "reference": reference,
        }
        for name, words in than_best.items()
        for i, (method, word) in enumerate(words.items())
    ]  # fmt: skip
    methods = next(iter(than_best.values()))
    rows += [
        {
            "data_set": "all sets", "size": 64, "method": method, "metric": metric, "rank": 1.25 + i, "best": 0,
            "settled": 0, "than_best": None, "than_reference": (over or {}).get(method, ""), "reference": reference,
        }
        for i, method in enumerate(methods)
    ]  # fmt: skip
    return pd.DataFrame(rows)


@pytest.mark.parametrize(
    ("found", "claim"),
    [
        ({"x": {"a": "best", "b": "worse"}}, "'a' has the lowest log loss on x; that is settled."),
        ({"x": {"a": "best", "b": OPEN}}, "'a' has the lowest log loss on x; that is not settled."),
        (
            {"x": {"a": "best", "b": "worse"}, "y": {"a": "best", "b": "equal"}},
            "'a' has the lowest log loss on both sets; that is settled on both sets.",
        ),
        (
            {"x": {"a": OPEN, "b": "best"}, "y": {"a": "best", "b": "worse"}, "z": {"a": OPEN, "b": "best"}},
            "'b' has the lowest log loss on x and z and 'a' on y; that is settled on y.",
        ),
        ({"x": {"b": "best", "a": "best"}}, "'a' has the lowest log loss on x; that is settled."),  # of equals
        ({"x": {"a": "best"}}, "'a' has the lowest log loss on x."),
        ({"x": {"default": "best"}}, "the default estimator has the lowest log loss on x."),
        ({"x": {"a": "failed", "b": "failed"}}, "no method has a log loss on every split of a set."),
    ],
)
def test_the_claim_names_the_best_of_each_set_and_what_is_settled(found, claim):
    assert headline(table(found), None, 0.01)[0] == f"With 64 training rows, {claim}"


def test_of_an_accuracy_the_highest_is_the_best_and_sizes_may_differ():
    said = headline(table({"x": {"a": "best", "b": OPEN}}, metric="accuracy", sizes={"x": 2000}), None, 0.01)
    assert said[0].startswith("With 2,000 training rows, 'a' has the highest accuracy")
    both = {"x": {"a": "best", "b": OPEN}, "y": {"a": "best", "b": OPEN}}
    assert headline(table(both, sizes={"x": 32}), None, 0.01)[0].startswith("With the most training rows of each set, ")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"b": "worse", "c": OPEN}, "settled: better than 1 of 2 others"),
        ({"b": "worse", "c": "equal"}, "settled: better than 1 and equal to 1 of 2 others"),
        ({"b": OPEN, "c": "better"}, "not settled against any of 2 others"),
    ],
)
def test_of_many_sets_the_first_rank_comes_first_and_of_few_sets_second(words, said):
    many, few = ({name: {"a": "best", "b": "worse", "c": OPEN} for name in names} for names in ("uvwxyz", "xy"))
    rank = "'a' ranks first over {0} sets, on average 1.25 of 3; " + said + "."
    found = headline(table(many, words | {"a": "reference"}), None, 0.01)
    assert found[0] == f"With 64 training rows, {rank.format(6)}"
    assert found[1] == "'a' has the lowest log loss on all 6 sets; that is not settled on any set."
    found = headline(table(few, words | {"a": "reference"}), None, 0.01)
    assert found[1] == rank.format(2)
    assert found[2].endswith("within 0.01; over sets, on most sets like these, and 2 sets tell little of others.")


def test_enough_sets_have_no_caution_and_only_the_reference_is_told_apart_from_others():
    many = {f"set {k}": {"a": "best", "b": "worse"} for k in range(10)}
    assert headline(table(many, {"b": "worse"}), None, 0.01)[2].endswith("over sets, on most sets like these.")
    other = headline(table(many, {"a": "better"}, reference="b"), None, 0.01)
    assert other[0] == "With 64 training rows, 'a' ranks first over 10 sets, on average 1.25 of 2."


def test_the_fewest_rows_have_a_sentence_and_settled_is_explained():
    most, fewest = ({"x": {"a": one, "b": other}} for one, other in (("best", "worse"), (OPEN, "best")))
    said = headline(table(most), table(fewest, sizes={"x": 16}), 0.02)
    assert said[-1] == "With the fewest training rows, 'b' has the lowest log loss on x; that is not settled."
    assert "above 0.95, every other method is worse by more than 0.02 or equal to within 0.02" in said[-2]
    assert len(said) == 3
