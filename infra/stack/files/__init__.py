"""Reads YAML files, and finds the line of a mistake."""
