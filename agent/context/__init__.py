"""Build a request: prompts, message numbers, attachments, token estimates, the window."""
