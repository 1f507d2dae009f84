"""What families have in common: sums and moments, shared parameters, plates, checks, the Student t."""
