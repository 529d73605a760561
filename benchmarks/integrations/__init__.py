"""What each integration costs and saves, with a real cross-encoder: `make bench-integrations`."""
