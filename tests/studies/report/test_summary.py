"""The summary of a comparison, in the words that are printed."""

import re
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from bayesnb.studies.comparison._metrics import ReliabilityBins
from bayesnb.studies.report._summary import next_step, number, summarise, whole, with_error
from tests.comparisons import CHECK, PAIRS, MadeUp, by_hand, evidence_of, findings_of, record, synthetic, widest
from tests.studies.report.printed import printed_data, printed_results, words

# words and numbers


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.3123, ".312"), (-0.3123, "-.312"), (1.0, "1.00"), (0.99996, "1.00"), (9.996, "10.0"), (12.34, "12.3"),
        (178.4, "178"), (16867.0, "17k"), (5.7e7, "57M"), (1.2e9, "1G"), (3e17, "3e+17"), (-0.0001, ".000"),
    ],
)  # fmt: skip
def test_numbers_are_short(value, text):
    assert number(value) == text


def test_a_mean_and_its_error_share_the_decimals():
    assert with_error(0.3123, 0.0456) == ".312 ±.046"
    assert with_error(12.34, 0.0456, sign="+") == "+12.3 ±.0"
    assert with_error(0.3123, 1.0456) == ".31 ±1.05"
    assert with_error(0.3123, None) == ".312"


def test_the_legend_explains_what_is_there_and_nothing_else(mixed):
    text = words(printed_results(mixed[0], widest(mixed[0])))
    for sentence in ("learned: the prior", "averaged: the exact average", "tempered: full", "L2, C = 1: scikit"):
        assert sentence in text
    text = words(printed_results(*mixed))
    assert "NIG: normal-inverse-gamma" in text
    assert not any(word in text for word in ("learned: ", "averaged", "power", "scikit"))


def test_intervals_of_a_large_table_say_on_how_few_splits_they_rest(monkeypatch, mixed):
    repeats = mixed[1].repeats
    text = words(printed_results(*mixed))
    assert "They rest on" not in text
    assert "The ECE has none where they are crossed, as it is no mean over test rows." in text
    monkeypatch.setattr("bayesnb.studies.report._summary.default_repeats", lambda rows: repeats if rows == 120 else 20)
    sentence = f"They rest on {repeats} splits, not 20, as the table has 120 rows: --repeats 20 runs all."
    assert sentence in words(printed_results(*mixed))


def test_times_are_those_of_the_smallest_and_the_largest_size(mixed):
    _, result = mixed
    text = printed_results(*mixed)
    lines = text[text.index("Milliseconds") :].splitlines()
    assert lines[1].split() == ["fit", "predict", "fit", "predict"]
    assert lines[2].split() == ["method", *["n", "=", "10", "n", "=", "10", "n", "=", "84", "n", "=", "84"]]
    expected = [result.median(size, "MAP", field) for size in (10, 84) for field in ("fit_ms", "predict_ms")]
    assert lines[5].split() == ["MAP", *(f"{ms:,.1f}" for ms in expected)]


def finding(**losses):
    """The finding of these losses in each split, beside those of MLE and full Bayes."""
    records = [record(i, method, loss) for method, values in losses.items() for i, loss in enumerate(values)]
    priors = dict.fromkeys(losses, "none")
    found = summarise(findings_of(synthetic("b"), MadeUp(priors, tuple(records))), "")
    return found["sentences"]["finding"][0], found["table"]


def test_the_finding_names_a_method_that_is_clearly_better():
    loss = {"MLE": [1.1, 5.0], "MAP": [0.7, 0.9], "full Bayes": [1.5, 1.7]}
    found, table = finding(**loss)
    assert found["claim"] == "With 20 training rows, MAP predicts clearly better than full Bayes."
    assert found["scores"] == (
        "Its log loss is .80 ±1.50 and its accuracy .900 ±.000; full Bayes has 1.60 ±1.50 and .900 ±.000. "
        "Not clearly worse than it: MLE."
    )
    assert [row["log_loss"]["than_full_bayes"] for row in table] == [None, "better", None]
    assert [row["log_loss"]["than_best"] for row in table] == [None, None, "worse"]
    found, _ = finding(**loss | {"MLE": [1.71, 1.9]})
    assert found["claim"] == "With 20 training rows, MAP predicts best."


def test_the_finding_says_where_a_lead_may_be_chance_or_is_none():
    found, _ = finding(**{"MLE": [1.0, 2.0], "full Bayes": [1.4, 1.8]})
    chance = "With 20 training rows, MLE has the lowest log loss, but its lead over full Bayes may be chance."
    assert found["claim"] == chance
    assert found["scores"].endswith("Not clearly worse than it: every other method.")
    one, _ = finding(**{"MLE": [1.0], "full Bayes": [1.4]})  # the noise of one split is unknown
    assert one["claim"] == chance
    assert one["scores"] == "Its log loss is 1.00 and its accuracy .900; full Bayes has 1.40 and .900."
    for equal in (1.0, 1.0 - 1e-9):  # of equal methods full Bayes
        found, table = finding(**{"MLE": [equal, equal + 1.0], "full Bayes": [1.0, 2.0]})
        assert found["claim"] == "With 20 training rows, full Bayes has the lowest log loss."
        assert table[0]["log_loss"]["than_full_bayes"] is None
    assert finding(**{"full Bayes": [1.0, 2.0]})[0]["claim"] == found["claim"]


def test_full_bayes_predicts_best_where_all_others_are_clearly_worse():
    found, _ = finding(**{"MLE": [1.41, 2.4], "MAP": [1.31, 2.3], "full Bayes": [1.0, 2.0]})
    assert found["claim"] == "With 20 training rows, full Bayes predicts best."
    found, _ = finding(**{"MLE": [1.41, 2.4], "MAP": [0.9, 2.4], "full Bayes": [1.0, 2.0]})
    assert found["claim"] == "With 20 training rows, full Bayes has the lowest log loss."
    assert found["scores"].endswith("±.000. Not clearly worse than it: MAP.")


def test_the_best_is_of_each_metric_and_differences_from_it_are_on_the_same_splits():
    """Losses of MAP lie between; in accuracy MLE is best, and its difference from itself is 0."""
    losses = {"MLE": [1.5, 1.8, 1.2], "MAP": [1.2, 1.3, 1.1], "full Bayes": [1.0, 1.2, 0.8]}
    right = {"MLE": 0.9, "MAP": 0.8, "full Bayes": 0.7}
    records = [record(i, m, loss, accuracy=right[m]) for m, own in losses.items() for i, loss in enumerate(own)]
    rows = summarise(findings_of(synthetic("b"), MadeUp(dict.fromkeys(losses, "none"), tuple(records))), "")["table"]
    for row, own in zip(rows, losses.values(), strict=True):
        loss, accuracy = row["log_loss"], row["accuracy"]
        assert (loss["best"], accuracy["best"]) == ("full Bayes", "MLE")
        assert loss["minus_best"] == loss["minus_full_bayes"] == pytest.approx(np.mean(own) - 1.0)
        assert accuracy["minus_best"] == pytest.approx(right[row["method"]] - 0.9)
    assert [row["accuracy"]["than_best"] for row in rows] == [None, "worse", "worse"]
    apart = np.subtract(losses["MAP"], losses["full Bayes"])
    half = stats.t.ppf(0.975, 2) * np.sqrt(1 / 3 + 0.2) * apart.std(ddof=1)
    assert rows[1]["log_loss"]["minus_best_half_interval"] == pytest.approx(half)


@pytest.mark.parametrize(("num_columns", "shown"), [(3, [0, 1, 2]), (13, range(13)), (16, [*range(10), 13, 14, 15])])
def test_columns_are_ranked_by_the_evidence(mixed, num_columns, shown):
    lines = printed_results(*mixed, evidence_of(num_columns)).splitlines()
    text = words(" ".join(lines))
    assert "of the first split's 84 training rows is -1,234.6 under the prior of full Bayes and -1,200.0 under" in text
    rows = [line.split() for line in lines if line.startswith("x[")]
    assert rows == [[f"x[{i}]", f"{1 - i / 50:.3f}", f"{1000.25 - 100 * i:,.1f}"] for i in shown]
    assert ("... 3 more ..." in text) == (num_columns > 13)


def test_the_report_says_when_map_and_full_bayes_are_the_same(counted):
    assert "MAP with Laplace 1 and full Bayes make the same predictions" in words(printed_results(*counted))


def test_the_check_is_printed_with_its_warnings(mixed):
    text = words(printed_results(*mixed, None, None, CHECK))
    for sentence in (
        "R-hat 1.002",
        "sample size 1,234",
        "3 divergences",
        "of 40 test rows differ from the exact ones by 0.00045 on average and by at most 0.012",
        "9.9 s",
        "warning: 3 [more] words",
    ):
        assert sentence in text


@pytest.mark.parametrize(("value", "text"), [(121, "121"), (123_456, "123,456"), (2**101 * 8 - 1, "2.0e+31")])
def test_whole_numbers_of_any_size(value, text):
    assert whole(value) == text
    assert whole(2**20_000) == "4.0e+6020"


def test_parameters_are_counted_beside_the_full_joint_table(counted, mixed):
    # 3 classes; a flag and a code of 5 values: 2 + 3 + 12 free parameters, and 3 * 2 * 5 - 1 cells
    sentence = "Naive Bayes has 17 free parameters; a table of the full joint distribution would need 29"
    assert sentence in words(printed_data(counted[0]))
    text = words(printed_data(mixed[0]))
    assert (
        "Naive Bayes has 23 free parameters; the full joint distribution has no finite table, as columns of numbers"
        in text
    )


def surely(confidence, correct):
    """A comparison whose largest probabilities and hits add up to these, of 40 rows in each of three splits."""
    splits = np.array([[[40], [c], [r]] for c, r in zip(confidence, correct, strict=True)])
    bins, found = [ReliabilityBins(*split) for split in splits], by_hand()
    few = [one for one in found.records if one.repeat < len(bins)]
    right = [hits / 40 for hits in correct]
    return replace(found, records=tuple(replace(one, bins=bins[one.repeat], accuracy=right[one.repeat]) for one in few))


def about_dependence(result, pairs):
    """Everything that is printed between the columns' evidence and what is said in short."""
    text = printed_results(synthetic("b"), result, None, pairs)
    assert max(map(len, text.splitlines())) <= 80
    text = words(text)
    return text[text.rindex("800.2") + len("800.2 ") : text.index(" In short ")]


def cured(**errors):
    """The same with calibration errors of cures, where full Bayes has 0.05."""
    sure = surely([39.0, 38.0, 39.5], [36.0, 36.0, 35.0])
    errors = {name.replace("_", " "): error for name, error in errors.items()}
    records = tuple(
        record(i, method, 1.0, ece=ece, brier=0.15, accuracy=0.8) for method, ece in errors.items() for i in range(3)
    )
    return replace(sure, priors=dict(sure.priors) | dict.fromkeys(errors, "none"), records=sure.records + records)


@pytest.mark.parametrize(
    ("tempered", "weights", "end"),
    [
        (
            0.02,
            0.012,
            "error of .050 falls to .020 with 'tempered' (accuracy -.092 ±.045, Brier +.050 ±.000); and to .012 with "
            "'feature weights' (accuracy -.092 ±.045, Brier +.050 ±.000)",
        ),
        (
            0.05,
            0.012,
            "(dependence.png). The calibration error of .050 falls to .012 with 'feature weights' (accuracy -.092 "
            "±.045, Brier +.050 ±.000)",
        ),
        (0.06, 0.07, "(dependence.png)"),
    ],
)
def test_the_warning_points_at_the_cure_where_it_cures(tempered, weights, end):
    assert about_dependence(cured(tempered=tempered, feature_weights=weights), PAIRS).endswith(f"{end}.")


def test_the_default_is_a_cure_too():
    """It learns dependence besides, which is what the warning speaks of."""
    text = about_dependence(cured(tempered=0.05, default=0.01), PAIRS)
    assert "error of .050 falls to .010 with 'default' (accuracy" in text


def test_dependence_is_a_warning_where_it_makes_full_bayes_over_confident():
    text = about_dependence(surely([39.0, 38.0, 39.5], [36.0, 36.0, 35.0]), PAIRS)
    assert text.startswith("warning: Full Bayes is over-confident: at n = 20 its largest probability is")
    assert (
        "is on average .079 higher than its accuracy of .892 ±.045 (reliability.png). Columns depend on each other"
        in text
    )
    assert "within the classes, most surely 'a[1]' and 'c' (dependence.png)." in text


def test_over_confidence_is_a_warning_without_dependence_too():
    sure = surely([39.0, 38.0, 39.5], [36.0, 36.0, 35.0])
    text = about_dependence(sure, PAIRS.among([0, 1]))
    assert (
        "is on average .079 higher than its accuracy of .892 ±.045 (reliability.png). No two columns surely depend"
        in text
    )
    alone = about_dependence(sure, None)
    assert alone.startswith("warning: Full Bayes is over-confident: at n = 20")
    assert alone.endswith("higher than its accuracy of .892 ±.045 (reliability.png).")


@pytest.mark.parametrize(
    ("confidence", "correct", "pairs"),
    [
        ([36.0, 36.0, 35.0], [39.0, 38.0, 39.5], PAIRS),  # too modest
        ([39.0, 36.0, 39.5], [36.0, 39.5, 38.0], PAIRS),  # within the noise
        ([39.0, 38.0, 39.5], [38.8, 37.8, 39.3], PAIRS),  # by half a percent
        ([39.0], [36.0], PAIRS),  # one split, whose noise is unknown
    ],
)
def test_there_is_no_warning_where_full_bayes_is_not_over_confident(confidence, correct, pairs):
    text = about_dependence(surely(confidence, correct), pairs)
    assert re.fullmatch(r"Dependent pairs of columns within the classes: \d of \d \(dependence.png\).", text)


def test_the_next_step_is_the_best_method_and_rivals_that_are_not_there():
    def step(losses, pairs=None):
        result = MadeUp(dict.fromkeys(losses, "none"), tuple(record(0, *one) for one in losses.items()))
        return next_step(result.on(synthetic("b")), pairs)

    rivals = "--rivals, for a logistic regression and a random forest on the same splits."
    powers = {"full Bayes": 0.4, "tempered": 0.3}
    assert step({"full Bayes": 0.4}) == (
        f"To try next: 'full Bayes' in your own code, bayesnb.NaiveBayesClassifier(method='posterior'); {rivals}"
    )
    assert step(powers).startswith(
        "To try next: 'tempered' in your own code, bayesnb.NaiveBayesClassifier(temper=True); "
    )
    default = {"full Bayes": 0.4, "default": 0.3}
    assert step(default, PAIRS) == f"To try next: 'default' in your own code, bayesnb.NaiveBayesClassifier(); {rivals}"
    depend = "; 'default', bayesnb.NaiveBayesClassifier(), with models in which columns depend on each other; "
    assert depend in step(powers, PAIRS)
    assert depend not in step(powers)
    assert step(powers | {"default": 0.5}, PAIRS) == step(powers)  # it was tried, and is not the best
    assert step({"full Bayes": 0.4, "random forest": 0.3}) == (
        "To try next: more rows or columns, or --nuts to check the posterior."
    )


def test_it_ends_in_short(mixed):
    lines = printed_results(*mixed).splitlines()
    text = words(" ".join(lines[lines.index("In short") + 1 :]))
    assert re.match(r"With 10 training rows, .* With 84 training rows, .* To try next: .*\.$", text)
