"""What a Waymark may have besides its core. Each folder is an extension that reads alone; the core imports none of them."""
