"""From the settings to a running Waymark: the settings, the composition of its parts, and its commands."""
