"""The loop that Python would be too slow for (private): `recurrence`, of the Gegenbauer polynomials."""
