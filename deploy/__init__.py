"""What a deployment needs besides the code."""
