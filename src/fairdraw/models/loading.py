"""Load a model by its name in the table."""

from __future__ import annotations

import difflib
import importlib

from fairdraw import models
from fairdraw.errors import ParameterError
from fairdraw.models.protocol import Model


def load(model: str = "smollm2") -> Model:
    """Load a model.

    Parameters
    ----------
    model : str
        A name in `MODELS`.

    Returns
    -------
    Model

    Raises
    ------
    ParameterError
        No model has this name.
    UnavailableError
        Its weights or a package are missing.
    """
    location = models.MODELS.get(model)
    if location is None:
        close = difflib.get_close_matches(model, models.MODELS, n=1)
        hint = f"did you mean {close[0]!r}?" if close else ""
        raise ParameterError("model", model, f"one of {', '.join(sorted(models.MODELS))}", hint)
    module, function = location.split(":")
    return getattr(importlib.import_module(module), function)()
