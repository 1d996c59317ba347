import com.fasterxml.jackson.databind.ObjectMapper;
import io.prometheus.jmx.JmxCollector;
import io.prometheus.metrics.expositionformats.PrometheusTextFormatWriter;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import io.prometheus.metrics.model.snapshots.MetricSnapshots;
import java.io.ByteArrayOutputStream;
import java.lang.reflect.Constructor;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.kafka.clients.CommonClientConfigs;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.internals.FetchMetricsRegistry;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.metrics.Gauge;
import org.apache.kafka.common.metrics.KafkaMetricsContext;
import org.apache.kafka.common.metrics.MetricConfig;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.metrics.MetricsReporter;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.connect.runtime.ConnectMetrics;
import org.apache.kafka.connect.runtime.ConnectMetricsRegistry;
import org.apache.kafka.connect.runtime.standalone.StandaloneConfig;
import org.apache.kafka.connect.util.ConnectorTaskId;

/**
 * Creates the metrics of a worker with a source and a checkpoint task as Kafka's own classes do, in each form of their
 * names, and prints what the JMX exporter (with the rules that it reads) and Strimzi's reporter make of them.
 */
class MirrorMetrics {
    private static final String MIRROR = "org.apache.kafka.connect.mirror.";
    private static final TopicPartition REMOTE = new TopicPartition("useast.orders", 3);

    @SuppressWarnings("unchecked")
    public static void main(String[] arguments) throws Exception {
        ObjectMapper json = new ObjectMapper();
        Map<String, Object> asked = json.readValue(System.in, Map.class);
        Map<String, Object> printed = new LinkedHashMap<>();
        for (String form : (List<String>) asked.get("forms")) {
            printed.put(form, scraped(form, asked));
        }
        System.out.println(json.writeValueAsString(printed));
    }

    @SuppressWarnings("unchecked")
    private static Map<String, String> scraped(String form, Map<String, Object> asked) throws Exception {
        Map<String, String> worker = new HashMap<>((Map<String, String>) asked.get("worker"));
        Map<String, String> scraped = new LinkedHashMap<>();
        ConnectMetrics connect = new ConnectMetrics("worker", new StandaloneConfig(worker), Time.SYSTEM, "cluster");
        ConnectMetricsRegistry registry = connect.registry();
        ConnectMetrics.MetricGroup tasks = connect.group(
            registry.workerGroupName(), registry.connectorTagName(), (String) asked.get("connector"));
        tasks.addValueMetric(registry.connectorFailedTaskCount, now -> 1L);
        tasks.addValueMetric(registry.connectorRunningTaskCount, now -> 2L);
        Map<String, String> source = (Map<String, String>) asked.get("source");
        List<Object> made = new ArrayList<>();
        // A task with both forms records everything in each of them.
        for (String one : form.split(",")) {
            Object sourceMetrics = mirrorMetrics(one, "Source", source, connect);
            call(sourceMetrics, "countRecord", REMOTE);
            call(sourceMetrics, "replicationLatency", REMOTE, 250L);
            Object checkpointMetrics = mirrorMetrics(one, "Checkpoint", source, connect);
            call(checkpointMetrics, "checkpointLatency", REMOTE, "first", 1000L);
            try {
                call(checkpointMetrics, "checkpointLatency", REMOTE, "second", 5000L);
            } catch (InvocationTargetException refused) {
                scraped.put("second group", refused.getCause().getMessage());
            }
            made.addAll(List.of(sourceMetrics, checkpointMetrics));
        }
        Metrics consumer = consumerMetrics(source);
        PrometheusRegistry exporter = new PrometheusRegistry();
        new JmxCollector((String) asked.get("rules")).register(exporter);
        scraped.put("jmxPrometheusExporter", text(exporter.scrape()));
        scraped.put("strimziMetricsReporter", text(PrometheusRegistry.defaultRegistry.scrape()));
        consumer.close();
        for (Object each : made) {
            if (each instanceof AutoCloseable own) {
                own.close();
            }
        }
        connect.stop();
        return scraped;
    }

    /** Kafka before 4.3 has one form, whose class needs no metrics of the worker. */
    private static Object mirrorMetrics(String form, String role, Map<String, String> config, ConnectMetrics connect)
            throws Exception {
        Constructor<?> constructor = Class.forName(MIRROR + "Mirror" + role + "TaskConfig").getConstructor(Map.class);
        Object task = constructor.newInstance(config);
        if (!form.equals("new")) {
            return call(task, has(task, "legacyMetrics") ? "legacyMetrics" : "metrics");
        }
        ConnectorTaskId id = new ConnectorTaskId(config.get("name"), 0);
        return call(task, "metrics", call(connect, "taskPluginMetrics", id));
    }

    /** The reporters and the client id of a task's consumer are those that its own configuration gives it. */
    @SuppressWarnings("unchecked")
    private static Metrics consumerMetrics(Map<String, String> config) throws Exception {
        Object task = Class.forName(MIRROR + "MirrorSourceTaskConfig").getConstructor(Map.class).newInstance(config);
        Map<String, Object> given = new HashMap<>((Map<String, Object>) call(task, "sourceConsumerConfig", "replication-consumer"));
        given.put("key.deserializer", "org.apache.kafka.common.serialization.ByteArrayDeserializer");
        given.put("value.deserializer", "org.apache.kafka.common.serialization.ByteArrayDeserializer");
        given.putIfAbsent("metric.reporters", "org.apache.kafka.common.metrics.JmxReporter");
        String clientId = (String) given.get("client.id");
        List<MetricsReporter> reporters = CommonClientConfigs.metricsReporters(clientId, new ConsumerConfig(given));
        MetricConfig tagged = new MetricConfig().tags(Map.of("client-id", clientId));
        Metrics metrics = new Metrics(tagged, reporters, Time.SYSTEM, new KafkaMetricsContext("kafka.consumer"));
        FetchMetricsRegistry registry = new FetchMetricsRegistry(Set.of("client-id"), "consumer");
        Map<String, String> tags = Map.of("client-id", clientId, "topic", "orders", "partition", "3");
        metrics.addMetric(
            metrics.metricInstance(registry.partitionRecordsLag, tags), null, (Gauge<Double>) (ignored, now) -> 7.0);
        return metrics;
    }

    private static Object call(Object on, String name, Object... values) throws Exception {
        for (Class<?> each = on.getClass(); each != null; each = each.getSuperclass()) {
            for (Method method : each.getDeclaredMethods()) {
                if (method.getName().equals(name) && takes(method, values)) {
                    method.setAccessible(true);
                    return method.invoke(on, values);
                }
            }
        }
        throw new NoSuchMethodException(name + " of " + on.getClass());
    }

    private static boolean takes(Method method, Object[] values) {
        Class<?>[] types = method.getParameterTypes();
        boolean fits = types.length == values.length;
        for (int at = 0; fits && at < types.length; at++) {
            fits = types[at].isPrimitive() || types[at].isInstance(values[at]);
        }
        return fits;
    }

    private static boolean has(Object on, String name) {
        return List.of(on.getClass().getDeclaredMethods()).stream().anyMatch(each -> each.getName().equals(name));
    }

    private static String text(MetricSnapshots snapshots) throws Exception {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        new PrometheusTextFormatWriter(false).write(out, snapshots);
        return out.toString();
    }
}
