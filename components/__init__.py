"""The page: panels, the views of their data, the routes beside them, and the formatting of Markdown."""
