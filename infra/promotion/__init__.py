"""Promotion: in which order stacks get a model, what has to be proven first, and the run that deploys them.

`rule/` is below a deployment, which obeys it; `run/` is above, and deploys.
"""
