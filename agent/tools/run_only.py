"""The text of a tool that only a run's graph carries out."""

OUTSIDE_RUN_TEXT = "This works only within a run of the agent."
