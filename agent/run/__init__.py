"""Runs: begin one, drive it, record it, publish its events; summaries and the judge."""
