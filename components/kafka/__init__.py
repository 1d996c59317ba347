"""What Kafka and MirrorMaker do, as rules over plain values; imports only the standard library."""
