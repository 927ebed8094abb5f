"""Uploads, exports and imports of the page."""
