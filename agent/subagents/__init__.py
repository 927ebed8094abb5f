"""Sub-agents of the main agent, and forks to try several prompts."""
