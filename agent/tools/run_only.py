"""The result of a tool that only a run's graph can run."""

OUTSIDE_RUN_TEXT = "This works only within a run of the agent."
