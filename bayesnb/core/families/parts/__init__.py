"""Code that the families share: sums and moments, shared parameters, plates, checks, the Student t."""
