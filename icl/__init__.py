"""In-context learning with softmax attention: exact risk, pretraining, the tensor trick."""


def __getattr__(name: str) -> str:
    """Return ``__version__`` of the installed package; looked up late, because few ask."""
    if name == "__version__":
        from importlib.metadata import version

        return version("softmax-icl")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
