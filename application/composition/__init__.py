"""From the settings to the parts of a server. Only `app` joins them."""
