"""What a change to a stack means for replication: pure functions that compare the objects before and after it.

Everything is read from the Kubernetes objects, so topologies, rendered files and running clusters are compared in the
same way.
"""
