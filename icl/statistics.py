"""The declared false-alarm rate of every stochastic check, and the intervals that go with it."""

from __future__ import annotations

from scipy.stats import norm

#: Two-sided false-alarm rate of every single stochastic check in tests and chapters.
#: With at most 1000 such checks the whole suite raises a false alarm with probability
#: below 1 % (union bound).
FALSE_ALARM_RATE = 1e-5


#: Half-width, in standard errors, of an interval with that false-alarm rate.
Z = float(norm.isf(FALSE_ALARM_RATE / 2))
