import subprocess
import sys

import pytest

from fairdraw.errors import ParameterError
from fairdraw.models import load


def test_an_unknown_model_is_named_with_the_nearest_one():
    with pytest.raises(ParameterError, match=r"model must be one of smollm2, got 'smolm'\nhint: did you mean"):
        load(model="smolm")


def test_importing_the_models_imports_numpy_and_the_standard_library_only():
    program = (
        "import sys; before = set(sys.modules); import fairdraw.models;"
        "roots = {name.partition('.')[0] for name in set(sys.modules) - before};"
        "print(sorted(roots - set(sys.stdlib_module_names) - {'numpy', 'fairdraw'}))"
    )
    answer = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert answer.stdout == "[]\n"
