"""Components of Kafka replication, and all that they need to know of Kafka, Connect and Strimzi."""
