"""Stand-in for pulumi-resource-kubernetes on a machine that cannot get the real plugin.

The engine uses it if PULUMI_DEBUG_PROVIDERS is `kubernetes:<port>`. Like the real one, it is a separate process, which
outlives a killed deployment until it has finished what it had begun.
"""
