"""Everything fairdraw raises.

::

    FairdrawError
    |-- ParameterError   (ValueError)    one value: a parameter, a seed, a position, a token id
    |-- LogitsError      (ValueError)    a row of logits, on the way in or after a stage
    |-- PlanError        (ValueError)    the text or the JSON of a plan
    `-- UnavailableError (RuntimeError)  a file, package or network that is not there

A message says what must hold, what came and where, then one ``hint:`` that helps.
"""

from __future__ import annotations


class FairdrawError(Exception):
    """The root of all errors of fairdraw."""

    def _with_hint(self, message: str, hint: str) -> str:
        return f"{message}\nhint: {hint}" if hint else message


class ParameterError(FairdrawError, ValueError):
    """A value lies outside its domain.

    Parameters
    ----------
    parameter : str
        Name of the value, as the caller wrote it.
    value : object
        What came.
    domain : str
        What must hold, as the end of "must be ...".
    hint : str, optional
        One sentence that helps.

    Examples
    --------
    >>> raise ParameterError("top_p", 1.5, "in [0, 1]", "1.0 keeps every token")
    Traceback (most recent call last):
    fairdraw.errors.ParameterError: top_p must be in [0, 1], got 1.5
    hint: 1.0 keeps every token
    """

    def __init__(self, parameter: str, value: object, domain: str, hint: str = "") -> None:
        # The parts, not the message, go to Exception: pickling rebuilds from them.
        super().__init__(parameter, value, domain, hint)
        self.parameter, self.value, self.domain, self.hint = parameter, value, domain, hint

    def __str__(self) -> str:
        return self._with_hint(f"{self.parameter} must be {self.domain}, got {self.value!r}", self.hint)


class LogitsError(FairdrawError, ValueError):
    """A row of logits cannot be sampled from.

    Parameters
    ----------
    where : str
        The row, and the stage if one is to blame: ``"logits"``, ``"logits row 3"``, ``"logits after bad_words"``.
    requirement : str
        What must hold, as the end of "must ...".
    got : str
        What came.
    hint : str, optional
        One sentence that helps.

    Examples
    --------
    >>> raise LogitsError("logits row 3", "have a finite maximum", "-inf")
    Traceback (most recent call last):
    fairdraw.errors.LogitsError: logits row 3 must have a finite maximum, got -inf
    """

    def __init__(self, where: str, requirement: str, got: str, hint: str = "") -> None:
        super().__init__(where, requirement, got, hint)
        self.where, self.requirement, self.got, self.hint = where, requirement, got, hint

    def __str__(self) -> str:
        return self._with_hint(f"{self.where} must {self.requirement}, got {self.got}", self.hint)


class PlanError(FairdrawError, ValueError):
    """A plan cannot be read: its text, its JSON or its names are wrong.

    Parameters
    ----------
    message : str
        What is wrong, with the place.
    hint : str, optional
        One sentence that helps, for instance "did you mean 'top_k'?".
    """

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message, hint)
        self.message, self.hint = message, hint

    def __str__(self) -> str:
        return self._with_hint(self.message, self.hint)


class UnavailableError(FairdrawError, RuntimeError):
    """Something outside the library is missing: a file, a package, the network.

    Parameters
    ----------
    message : str
        What is missing.
    hint : str, optional
        What to run.
    """

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message, hint)
        self.message, self.hint = message, hint

    def __str__(self) -> str:
        return self._with_hint(self.message, self.hint)
