"""Nouns without Django models. Nothing here imports anything else of ours."""
