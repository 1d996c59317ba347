"""Reads a MirrorMaker that already runs and writes it as a topology: `replicate import`."""
