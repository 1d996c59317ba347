"""What a change means for replication, by pure functions over its Kubernetes objects before and after."""
