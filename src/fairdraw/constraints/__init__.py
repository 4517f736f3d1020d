"""Constraints: which ids may come next, from the text so far."""
