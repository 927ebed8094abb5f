"""THE PEOPLE: who comes in with a name and a password, by whose invitation, and as what. Only AUTH=password imports it."""
