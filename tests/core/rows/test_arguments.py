"""Arguments of another type than was asked for: each is refused in a sentence of the package's own."""

import numpy as np
import pytest

import bayesnb as nb

X, Y = np.array([[0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]), np.array([0, 1, 1])
MODEL = nb.NaiveBayes(nb.Bernoulli())
FIT = nb.PointEstimate(MODEL, {"class_probs": [0.5, 0.5], "x_probs": [[0.2, 0.4], [0.6, 0.8]]})

REFUSED = {
    "rows of two lengths": (lambda: nb.fit_posterior(MODEL, [[1.0], [0.0, 1.0]], [0, 1]), "rows of one length"),
    "no model": (lambda: nb.PointEstimate(1, FIT.params), "a dict of arrays by site"),
    "no parameters": (lambda: nb.PointEstimate(MODEL, 0.5), "a dict of arrays by site"),
    "no statistics": (lambda: MODEL.resolve(statistics=True), "statistics must be those of the model's blocks"),
    "class probabilities of text": (lambda: nb.NaiveBayes(nb.Bernoulli(), class_probs=["a", "b"]), "must be numbers"),
    "flags for class probabilities": (lambda: nb.NaiveBayes(nb.Bernoulli(), class_probs=[True]), "must be numbers"),
    "a complex number": (lambda: nb.Bernoulli(a=np.array([1 + 1j])), "must be a number"),
    "text for a choice": (lambda: nb.Normal(variance=np.array("both")), "must be 'own' or 'shared'"),
    "a flag for a number": (lambda: FIT.generate(key=None, num_rows=True), "key must be|must be a positive int"),
    "a type for a class": (lambda: nb.explain(FIT, X, against=int), "against must be a class"),
    "numbers for a class": (lambda: nb.explain(FIT, X, against=np.zeros(2)), "against must be a class"),
    "a number for names": (lambda: nb.explain(FIT, X, class_names=np.array(1.0)), "must be a list of 2 names"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_was_not_asked_for_is_refused(case):
    call, message = REFUSED[case]
    with pytest.raises(ValueError, match=message):
        call()
