"""Signed-in browsers: their authentication, the file, the routes and the log of sessions."""
