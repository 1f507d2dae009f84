"""scikit-learn's five naive Bayes classes, built on the primitives of this package.

All five differ from scikit-learn's as follows; the docstring of each class lists its own differences.

* A probability of zero makes a class impossible, without NaN or warning, and all counts and predictions are float64.
* Labels of rows of weight zero add no class, and ``partial_fit`` refuses labels that were not declared.
* ``class_prior`` is divided by its sum.
* The fitted arrays are read-only; replace an attribute to change predictions.
"""
