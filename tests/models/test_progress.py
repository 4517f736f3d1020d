import io
import sys

from fairdraw.models import progress as module
from fairdraw.models.progress import progress


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def _sit_at_a_terminal(monkeypatch):
    # Not a fixture: pytest puts its own stderr back between setup and test.
    stream = _Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setenv("TERM", "xterm")
    return stream


def test_a_waiting_person_sees_a_bar_on_standard_error_only(capfd, monkeypatch):
    terminal = _sit_at_a_terminal(monkeypatch)
    monkeypatch.setattr(module, "_PATIENCE_SECONDS", -1.0)
    with progress("Fetching", 10) as report:
        report(5)
    assert "Fetching" in terminal.getvalue()
    assert capfd.readouterr().out == ""


def test_a_short_job_shows_nothing(monkeypatch):
    terminal = _sit_at_a_terminal(monkeypatch)
    with progress("Fetching", 10) as report:
        report(10)
    assert "Fetching" not in terminal.getvalue()


def test_without_a_terminal_nothing_is_shown(monkeypatch, capfd):
    monkeypatch.setattr(module, "_PATIENCE_SECONDS", -1.0)
    with progress("Fetching", 10) as report:
        report(5)
    assert capfd.readouterr() == ("", "")


def test_without_rich_nothing_is_shown(monkeypatch):
    terminal = _sit_at_a_terminal(monkeypatch)
    monkeypatch.setitem(sys.modules, "rich.console", None)
    with progress("Fetching", 10) as report:
        report(5)
    assert terminal.getvalue() == ""
