"""People, their sessions and links, and the data that several processes share for them."""
