"""Our numbers beside printed ones."""


def show(name, ours, printed, why=""):
    """Print both; where they differ, the reason has to be given."""
    ours, printed = as_text(ours), as_text(printed)
    if ours != printed and not why:
        raise ValueError(f"{name} differs and nobody says why: {ours}, printed {printed}")
    print(name)
    print(f"    ours     {ours}")
    print(f"    printed  {printed}")
    print("    same" if ours == printed else f"    differs: {why}")


def as_text(value):
    """One line of text: lists with spaces between, line ends as they are written in a string."""
    if isinstance(value, (list, tuple)):
        return " ".join(as_text(part) for part in value)
    return str(value).replace("\n", "\\n")


def frequencies(tokens, vocab=6):
    """How often each token came, to four places."""
    tokens = list(tokens)
    return [f"{tokens.count(token) / len(tokens):.4f}" for token in range(vocab)]
