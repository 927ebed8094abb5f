"""The tools of agents, each in its own file, and the approval of their calls."""
