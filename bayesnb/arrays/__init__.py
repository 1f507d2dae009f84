"""Where arrays live and how loops run over them: numpy, JAX or traced; memory, threads, sparse rows.

It knows nothing of probability.
"""
