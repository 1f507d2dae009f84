"""scikit-learn's five naive Bayes classes, built on the primitives of this package."""
