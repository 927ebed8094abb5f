"""Search as pure functions: words of a text, the query that a user types, and snippets with marked ranges."""
