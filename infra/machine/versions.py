"""Every version that the local stack pins outside requirements.txt; a test compares them with go.mod and pom.xml."""

ETCD = "3.6.8"
KUBERNETES = "1.36.3"
PULUMI_ENGINE = "3.246.0"

KAFKA = "4.2.0"
KAFKA_3_9 = "3.9.2"
#: Further versions of Kafka whose properties are known; workers here can also run the last one.
KAFKA_4_3 = "4.3.1"
STRIMZI = "1.2.0"
#: The oldest Strimzi whose API is served here, and the last release whose CRD generator is published for v1beta2.
STRIMZI_V1BETA2 = "0.45.0"
CONFIG_PROVIDER = "1.2.0"
SPARK = "4.2.0"
CONTROLLER_GEN = "0.19.0"
PROMETHEUS_OPERATOR = "0.85.0"
JMX_EXPORTER = "1.0.1"
METRICS_REPORTER = "0.3.0"
MAVEN_DEPENDENCY_PLUGIN = "3.8.1"

#: Strimzi's CRD generator 1.2 is compiled for Java 21; Kafka and Spark also run on older ones.
JDK_MINIMUM = 21
