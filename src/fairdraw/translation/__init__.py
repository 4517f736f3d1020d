"""From one engine's parameters to another's: exactly, by an identity, as near as a row allows, or not at all."""
