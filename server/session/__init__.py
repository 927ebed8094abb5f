"""Signed-in browsers: the door, the file, the routes and the log of sessions."""
