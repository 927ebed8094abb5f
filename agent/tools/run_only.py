"""The result of a graph's tool outside a run."""

OUTSIDE_RUN_TEXT = "This works only within a run of the agent."
