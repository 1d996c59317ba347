"""Promotion: the order in which stacks get a model, what has to be proven first, and the run that deploys them.
Deployments import `rule/` and obey it; `run/` imports deployments and carries them out.
"""
