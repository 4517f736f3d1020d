"""A hosted service whose law is not documented: names and ranges alone."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from fairdraw.dialects.base import Dialect, Mode, Parameter, Variant, by_our_names
from fairdraw.draws import Undocumented


def hosted(
    service: str,
    *,
    source: str,
    parameters: tuple[Parameter, ...],
    unmodelled: Mapping[str, str],
    elsewhere: Mapping[str, str],
) -> Dialect:
    """Make the dialect of a service: its requests are read and checked, and no law is claimed."""
    mode = Mode(
        name="undocumented",
        steps=(),
        draw=Undocumented(service=service),
        ignores="the service does not document what it does with it",
    )
    return Dialect(
        engine=service,
        version="",
        summary="names and ranges of a hosted service; what it samples from is not documented, so there is no law",
        source=source,
        variants=MappingProxyType({"": Variant(parameters=parameters, modes=(mode,))}),
        from_params=by_our_names(service, parameters),
        unmodelled=unmodelled,
        elsewhere=elsewhere,
    )
