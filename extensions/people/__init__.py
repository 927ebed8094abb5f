"""THE PEOPLE: who comes in with a password or by a provider, and as what. Only AUTH=password and oidc import it."""
