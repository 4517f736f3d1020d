"""What the docs say is what the example prints."""

import re
import runpy
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_two_laws_in_the_docs_are_those_that_the_example_works_out(capsys):
    runpy.run_path(str(ROOT / "examples/constraints.py"), run_name="__main__")
    output = capsys.readouterr().out
    page = (ROOT / "docs/constraints.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\w+) \| (0\.\d{4}) \| (0\.\d{4}) \|$", page, re.MULTILINE)
    assert len(rows) == 2
    for text, masked, conditional in rows:
        assert re.search(rf"^    {text} +masked {masked}  conditional {conditional}  by", output, re.MULTILINE)
    distance = re.search(r"total variation of the two laws is (0\.\d{4})", page)
    assert f"total variation {distance[1]}\n" in output
