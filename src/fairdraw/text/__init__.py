"""Text into tokens and back: tokenizer, chat template, whole characters."""
