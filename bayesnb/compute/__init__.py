"""Array work that knows no probability: numpy, JAX or traced arrays; loops, products and sums; stable formulas."""
