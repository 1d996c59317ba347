"""The validation job: proves from the data of two Kafka clusters that a replication flow works.

Runs alone under spark-submit. Of our own packages it imports only `components.kafka`, `components.contract` and
`components.clients`.
"""
