"""The packages installed for Waymark: their pins, the registry's news about them, and a bill of materials."""
