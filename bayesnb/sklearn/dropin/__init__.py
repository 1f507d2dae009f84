"""scikit-learn's five naive Bayes classes on the primitives of this package."""
