"""The stand-in for the Prometheus operator: a process that configures Prometheus from what is in the API server.

It runs no Prometheus itself, and there is no object of the kind Prometheus, so it takes every PodMonitor and
PrometheusRule.
"""
