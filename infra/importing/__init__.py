"""Reads what runs MirrorMaker already and says it as a topology: `replicate import`."""
