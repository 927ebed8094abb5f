"""The inputs of a run: requests, jobs, and what a run begins from."""
