"""From a prompt to a text: the loop, and what it gives."""
