"""A conversation in progress, as frames for the pages that follow it."""
