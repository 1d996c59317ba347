"""Reads YAML files, and says in which line a mistake stands."""
