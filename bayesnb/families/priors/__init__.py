"""Conjugate priors that several parameters or a whole family rest on."""
