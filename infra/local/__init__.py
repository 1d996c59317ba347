"""The local stack: two real Kafka regions and a real Kubernetes API on this machine."""
