"""The tools of agents, one file for each tool, and the approval of their calls."""
