"""In-context learning with softmax attention: exact risk, pretraining, audited claims."""

__version__ = "0.1.0"
