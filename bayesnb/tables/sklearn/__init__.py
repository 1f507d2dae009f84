"""The scikit-learn interface: its naive Bayes classifiers with their parameters, attributes, tags and metadata routing.

Counts and predictions are float64 for rows of any type, ``partial_fit`` in any batches gives the fit of all rows, NaN
marks a missing cell, and probabilities of zero cause no NaN. Each class's docstring lists the intended differences from
scikit-learn, and ``dropin`` those of all of them; nothing here accesses files.
"""
