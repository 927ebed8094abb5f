"""Builds requests: prompts, message numbers, attachments, token estimates, the window."""
