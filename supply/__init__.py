"""The packages that Waymark brings along: their pins, what the registry says about them, and a bill of materials."""
