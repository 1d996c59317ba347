"""Stand-in for Strimzi's cluster operator on one machine: KafkaConnect, KafkaConnector and KafkaMirrorMaker2.

It reads custom resources and the Secrets they name, and nothing else: no module of `components` reaches it. Every
module here is pure except api calls (`reconcile`, `connectors`, `mirror_makers`, `worker_pods`), processes (`workers`)
and the entry (`__main__`).
"""
