"""Stand-in for pulumi-resource-kubernetes on a machine that cannot get the real plugin.

The engine uses it if PULUMI_DEBUG_PROVIDERS is `kubernetes:<port>`. As the real one, it is a process of its own
(`own_process`), which outlives a killed deployment until it has ended what it had begun.
"""
