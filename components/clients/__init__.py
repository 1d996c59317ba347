"""The only client of Kafka: logins, topics, offsets, groups, ACLs, records and commits, on confluent-kafka.

May be imported by infra, by the driver of the validation job, and by tests; imports components.kafka and
components.contract only.
"""
