"""scikit-learn's five naive Bayes classes, built on the primitives of this package.

Parameters, attributes and answers are scikit-learn's, except for these intended differences, and those that the
docstring of each class lists. MultinomialNB, ComplementNB and BernoulliNB take scipy's sparse matrices too.

* A probability of zero makes a class impossible, without NaN or warning, and all counts and predictions are float64.
* With ``alpha=0`` a class without counts, or without cells in a column, gets the frequencies of all classes.
* NaN in an array is a missing cell: it drops its factor.
* Labels of rows of weight zero add no class, and ``partial_fit`` refuses labels that were not declared.
* ``class_prior`` is divided by its sum.
* The fitted arrays are read-only; replace an attribute to change predictions.
"""
