"""``python -m fairdraw.cli``: the same as ``fairdraw``."""

from fairdraw.cli.main import main

main()
