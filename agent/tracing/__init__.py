"""Trace events of a run, and the Langfuse tracer."""
