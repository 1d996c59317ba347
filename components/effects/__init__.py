"""What a change of a stack means for replication: pure functions of what ran before and what would run after.

Everything is read out of the Kubernetes objects, so that a topology, rendered files and a running cluster are compared
alike. Imports the model, naming, expansion and specs.
"""
