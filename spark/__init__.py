"""The validation job: proves from the data of two Kafka clusters that a replication flow works.

Runs alone under spark-submit; imports nothing of this project outside this package.
"""
