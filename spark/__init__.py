"""The validation job: proves from the data of two Kafka clusters that a replication flow works.

Runs alone under spark-submit. Of ours it imports `components.kafka` and `components.contract` only.
"""
