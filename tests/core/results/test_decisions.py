import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import logsumexp, softmax

import bayesnb as nb

PROBA = np.random.default_rng(0).dirichlet(np.ones(3), 50)
COSTS = np.random.default_rng(1).normal(size=(3, 4))


def test_no_other_decision_costs_less():
    found = nb.decide(PROBA, COSTS)
    each = np.array([[sum(p[k] * COSTS[k, j] for k in range(3)) for j in range(4)] for p in PROBA])
    assert_array_equal(found.labels, each.argmin(axis=1))
    assert_allclose(found.expected_cost, each.min(axis=1))


def test_by_default_the_most_probable_class_and_the_probability_of_an_error():
    found = nb.decide(PROBA)
    assert_array_equal(found.labels, PROBA.argmax(axis=1))
    assert_allclose(found.expected_cost, 1.0 - PROBA.max(axis=1))
    careful = nb.decide(PROBA, abstain=0.3)
    assert_array_equal(careful.labels == -1, 1.0 - PROBA.max(axis=1) > 0.3)
    assert (careful.expected_cost <= 0.3).all()
    assert_array_equal(careful.labels[careful.labels >= 0], found.labels[careful.labels >= 0])


def test_on_a_device_and_inside_jit():
    found = jax.jit(lambda proba: nb.decide(proba, COSTS, abstain=0.1))(jnp.asarray(PROBA))
    assert_array_equal(found.labels, nb.decide(PROBA, COSTS, abstain=0.1).labels)


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: nb.decide(PROBA, np.ones((2, 2))), "a row for each of the 3 classes"),
        (lambda: nb.decide(PROBA, np.ones(3)), r"got float64 of shape \(3,\)"),
        (lambda: nb.decide(PROBA, [[0, 1, 1], [1, 0, np.nan], [1, 1, 0]]), "got nan for class 1 and decision 2"),
        (lambda: nb.decide(2 * PROBA), "sum 1 in each row"),
        (lambda: nb.decide(PROBA[0]), r"probabilities \[N, K\]"),
        (lambda: nb.decide(PROBA, abstain=np.nan), "abstain must be the cost of no decision"),
        (lambda: nb.decide(PROBA, abstain="a"), "a finite number, got 'a'"),
        (lambda: nb.decide(PROBA, {"rare": {}}), "takes a dict by label"),
        (lambda: nb.decide(np.zeros((0, 0))), "proba must be probabilities"),
    ],
)
def test_bad_input(call, sentence):
    with pytest.raises(ValueError, match=sentence):
        call()


# up a tree of labels

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
