"""What the service does over HTTP, beside the same statements issued directly, in one run."""
