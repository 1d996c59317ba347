"""Brings running objects into a stack: `replicate adopt`."""
