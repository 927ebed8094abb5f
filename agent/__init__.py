"""The run: the model, its tools, and everything between a user message and rest."""
