"""Compiled loops for a CPU (private): each has a plain counterpart that the tests compare it with."""
