"""What guesses ahead: the text itself, a smaller model, heads on the target."""
