"""Agents that the main agent asks, and branches on which it tries several prompts."""
