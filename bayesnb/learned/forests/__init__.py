"""Forests of dependence: each feature may depend on one other, averaged over all forests or in the most probable one.

"Column j given that column i is c, in class k" is the family of column j under the label (k, c), so that families do
the mathematics.
"""
