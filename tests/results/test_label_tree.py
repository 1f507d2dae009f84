"""Probabilities summed up a tree of labels, against sums over the classes below each node."""

import numpy as np
import pytest
from scipy.special import logsumexp, softmax

import bayesnb as nb

PATHS = ["a;b;c", "a;b;d", "a;e", "f", "f;g;h", "a-;b", "a;bb;c"]
RNG = np.random.default_rng(0)
LOGITS = RNG.normal(size=(50, len(PATHS))) * np.array([[1], [900]]).repeat(25, axis=0)  # mild, and near certainty
LOG_PROBA = LOGITS - logsumexp(LOGITS, axis=1, keepdims=True)
NODES = {"a", "a;b", "a;b;c", "a;b;d", "a;e", "f", "f;g", "f;g;h", "a-", "a-;b", "a;bb", "a;bb;c"}


def below(node):
    return [place for place, path in enumerate(PATHS) if path == node or path.startswith(f"{node};")]


def test_each_node_has_the_sum_of_what_is_below_it():
    tree = nb.roll_up(LOG_PROBA, PATHS)
    assert set(tree.nodes) == NODES
    expected = np.stack([logsumexp(LOG_PROBA[:, below(node)], axis=1) for node in tree.nodes], axis=1)
    np.testing.assert_allclose(tree.log_proba, expected, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(tree.proba[:, tree.depths == 1].sum(axis=1), 1)


def test_parents_are_the_nodes_above():
    tree = nb.roll_up(LOG_PROBA, PATHS)
    above = [tree.nodes[parent] if parent >= 0 else "" for parent in tree.parents]
    assert above == [node.rpartition(";")[0] for node in tree.nodes]
    assert tree.depths.tolist() == [node.count(";") + 1 for node in tree.nodes]


@pytest.mark.parametrize("confidence", [0.3, 0.5, 0.7, 0.95, 1.0])
def test_the_deepest_node_that_is_sure_enough(confidence):
    tree = nb.roll_up(LOG_PROBA, PATHS)
    for row, found in enumerate(tree.deepest(confidence)):
        sure = [(node.count(";"), p, node) for node, p in zip(tree.nodes, tree.proba[row], strict=True)]
        sure = [one for one in sure if one[1] >= confidence - 1e-9]
        assert found == (max(sure)[2] if sure else "")


def test_no_node_is_sure_enough():
    tree = nb.roll_up(np.log(np.full((2, 4), 0.25)), ["a", "b", "c", "d;e"])
    assert tree.deepest().tolist() == ["", ""]
    assert repr(tree) == "LabelTree(5 nodes of depth 1 to 2, 2 rows)"


def test_zeros_and_no_rows():
    tree = nb.roll_up(np.array([[0.0, -np.inf, -np.inf]]), ["a;b", "c;d", "c;e"])
    np.testing.assert_array_equal(tree.proba, [[1, 1, 0, 0, 0]])
    assert nb.roll_up(np.zeros((0, 2)), ["a", "b"]).deepest().shape == (0,)


def test_predictions_of_a_classifier():
    clf = nb.NaiveBayesClassifier("bernoulli").fit(np.eye(3), ["a;b", "a;c", "d"])
    tree = nb.roll_up(clf.predict_log_proba(np.eye(3)), clf.classes_)
    proba = clf.predict_proba(np.eye(3))
    np.testing.assert_allclose(tree.proba[:, 0], proba[:, :2].sum(axis=1))


BAD = {
    r"two classes have the path 'a;b'": (LOG_PROBA[:, :2], ["a;b", "a;b"]),
    r"the path '' has an empty step": (LOG_PROBA[:, :2], ["a", ""]),
    r"the path 'a;' has an empty step": (LOG_PROBA[:, :2], ["a;", "b"]),
    r"the path 'a;;b' has an empty step": (LOG_PROBA[:, :2], ["a;;b", "b"]),
    r"paths must be a list of texts .*, got 'ab'": (LOG_PROBA[:, :2], "ab"),
    r"paths must be text .*, got 3": (LOG_PROBA[:, :2], [3, "b"]),
    r"must be numbers \[N, 1\].* got float64 \(50, 2\)": (LOG_PROBA[:, :2], ["a"]),
    r"must be numbers \[N, 1\].* got <U1": (np.array([["x"]]), ["a"]),
    r"has nan, expected at most 0": (np.array([[np.nan, 0]]), ["a", "b"]),
    r"expected at most 0: give the result of predict_log_proba": (softmax(LOGITS, axis=1), PATHS),
}


@pytest.mark.parametrize("message", BAD)
def test_bad_input_gets_a_sentence(message):
    with pytest.raises(ValueError, match=message):
        nb.roll_up(*BAD[message])


@pytest.mark.parametrize("confidence", [0, -1, 1.1, np.nan, "a", None])
def test_confidence_is_a_probability(confidence):
    with pytest.raises(ValueError, match="confidence must be a probability above 0"):
        nb.roll_up(LOG_PROBA, PATHS).deepest(confidence)


def test_separators():
    assert nb.roll_up(LOG_PROBA[:, :2], ["a|b", "a;b"], separator="|").nodes == ("a", "a|b", "a;b")
    for separator in ("", 3):
        with pytest.raises(ValueError, match="separator must be"):
            nb.roll_up(LOG_PROBA, PATHS, separator=separator)
