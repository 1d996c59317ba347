"""Promotion: the order of stacks, what has to be proven (`rule/`), and the run that deploys them (`run/`)."""
