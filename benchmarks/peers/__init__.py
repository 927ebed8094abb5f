"""Waymark's page beside other programs in the same run, each with its own way to stream and to store."""
