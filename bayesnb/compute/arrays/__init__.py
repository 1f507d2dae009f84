"""Array utilities: numpy, JAX or traced arrays, memory, threads, compiled loops and sparse rows.

Nothing here depends on probability. The numbers that bound the whole package stand here too.
"""
