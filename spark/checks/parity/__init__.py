"""parity: the target holds the same records as the source."""
