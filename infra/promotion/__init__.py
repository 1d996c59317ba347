"""Promotion: from which stack to which a model goes, what has to be proven before, and the run that does it.

Imports point one way. The rule (`plan`, `rules`, `evidence`, `cluster`, `state`, `gate`) is below a deployment, which
is held to it; `run`, `show` and `cli` are above, and deploy.
"""
