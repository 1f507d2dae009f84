"""Pictures: each function draws on the given axes and returns them; matplotlib is imported at the first call."""
