"""An engine's very tokens: its own float arithmetic and its own generator, one engine a file; never the fast path."""
