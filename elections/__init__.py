"""Leader election without an account: a room is an address, a leader holds its lease."""
