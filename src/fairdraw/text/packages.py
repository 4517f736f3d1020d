"""One sentence for an optional package that is not installed."""

from __future__ import annotations

from fairdraw.errors import UnavailableError


def missing_package(package: str, purpose: str) -> UnavailableError:
    """Make the error to raise when an optional package cannot be imported.

    Parameters
    ----------
    package : str
        Name of the package on the package index.
    purpose : str
        What needs it, as the end of "... is needed to".

    Returns
    -------
    UnavailableError
        For the caller to raise from its ``ImportError``.

    Examples
    --------
    >>> print(missing_package("gguf", "read the weights"))
    the package gguf is needed to read the weights and is not installed
    hint: pip install "fairdraw[demo]"
    """
    return UnavailableError(
        f"the package {package} is needed to {purpose} and is not installed",
        'pip install "fairdraw[demo]"',
    )
