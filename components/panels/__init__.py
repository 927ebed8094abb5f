"""The panels of the page: each shows one part of a conversation and carries out its commands."""
