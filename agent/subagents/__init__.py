"""Sub-agents that the main agent calls, and forks on which it tries several prompts."""
