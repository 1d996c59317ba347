"""Replications as flows: their settings, derived names, resolved clusters and digests."""
