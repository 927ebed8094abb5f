"""People, their sessions and links, and what several processes share for them."""
