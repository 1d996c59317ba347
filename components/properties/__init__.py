"""Kafka's definitions of its properties, by version, and which client of a connector a key reaches."""
