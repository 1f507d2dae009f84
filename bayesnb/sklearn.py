"""scikit-learn's five naive Bayes classes, on the primitives of this package: ``bayesnb.tables.sklearn.dropin``."""

from bayesnb.compute.arrays._extras import needed_by

with needed_by("bayesnb.sklearn", "tables"):
    from bayesnb.tables.sklearn.dropin._five_classes import (
        BernoulliNB,
        CategoricalNB,
        ComplementNB,
        GaussianNB,
        MultinomialNB,
    )

__all__ = ["BernoulliNB", "CategoricalNB", "ComplementNB", "GaussianNB", "MultinomialNB"]
