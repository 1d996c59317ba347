"""Flows as plain Kubernetes objects: pure functions, one module for each kind of object. Imports `flows` and below."""
