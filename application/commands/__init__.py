"""The commands beside `serve` and `work`."""
