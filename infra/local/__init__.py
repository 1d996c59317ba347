"""The local stack: real Kafka regions and a real Kubernetes API on loopback, one module a part."""
