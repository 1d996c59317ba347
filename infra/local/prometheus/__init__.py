"""The stand-in for the Prometheus operator: it configures one Prometheus for all PodMonitors and PrometheusRules."""
