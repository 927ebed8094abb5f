"""The HTTP and WebSocket routes beside Dash, one module a route."""
