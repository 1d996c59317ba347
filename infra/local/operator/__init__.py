"""Stand-in for Strimzi's cluster operator on one machine: KafkaConnect, KafkaConnector and KafkaMirrorMaker2.

It reads only custom resources and the Secrets that they name, and imports nothing from `components`. Every module is
pure, except those that call the API server (`reconcile`, `connect_clusters`, `connector_reconciler`,
`connector_offsets`, `mirror_makers`, `worker_pods`, `lookups` and `conditions.write_status`), those that run processes
(`worker_processes`) and the entry (`__main__`).
"""
