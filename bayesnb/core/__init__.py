"""Naive Bayes: families, rows and their sufficient statistics, the model, its fits, and what these predict."""
