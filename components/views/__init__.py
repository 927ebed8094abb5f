"""Values of the store as plain JSON and HTML for the page."""
