"""The run: the model, its tools, and everything that happens between a user message and rest."""
