"""Processes beside the server: formatting and redaction, each with a budget."""
