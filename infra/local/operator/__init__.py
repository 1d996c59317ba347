"""Stand-in for Strimzi's cluster operator on one machine: KafkaConnect, KafkaConnector and KafkaMirrorMaker2."""
