"""``fairdraw compare``."""


def compare_command(*a, **k):
    return 2
