"""The panels of the page. Each shows a part of a conversation and carries out its commands."""
