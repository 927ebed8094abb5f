"""What is seen: one module a panel, the guard at the door, and the Markdown that the page shows."""
