"""OctoStore: the referee that fleets of workers ask before they act."""

__version__ = "0.1.0"
