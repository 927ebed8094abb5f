"""Runs: starting, driving and recording them, and publishing their events; summaries and the judge."""
