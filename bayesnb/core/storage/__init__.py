"""Save fits to files and load them again, bit for bit; wings above register the types that they add."""
