"""Webhooks: what happens to a team's locks, told to the team's own systems."""
