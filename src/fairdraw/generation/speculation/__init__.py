"""Speculation: a draft guesses ahead, the target verifies; the text follows the target alone."""
