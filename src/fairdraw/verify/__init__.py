"""Whether two plans mean the same, and whether draws follow their law."""
