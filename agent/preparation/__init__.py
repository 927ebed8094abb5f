"""The inputs of a run: requests, jobs, and its starting point."""
