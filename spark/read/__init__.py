"""What the job reads from clusters and from Kubernetes, and the frames that it makes of records."""
