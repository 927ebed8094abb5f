"""The peers: small programs as their documentation writes them. Each runs by itself."""
