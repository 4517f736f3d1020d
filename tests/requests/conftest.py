"""The forms of llama.cpp need its dialect."""

import pytest

from fairdraw.dialects import DIALECTS


def pytest_collection_modifyitems(items):
    if not any(dialect.engine == "llama_cpp" for dialect in DIALECTS.values()):
        for item in items:
            if "TestLlamaCpp" in item.nodeid:
                item.add_marker(pytest.mark.skip(reason="no dialect of llama.cpp"))
