"""The validation job's tests: pure decisions, frames of a few literal rows, and real brokers."""
