"""What a change to a stack means for replication: pure functions that compare the objects before and after it.

Everything is read from the Kubernetes objects, so a topology, rendered files and a running cluster compare alike.
"""
