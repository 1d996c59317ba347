import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.header.ConnectHeaders;
import org.apache.kafka.connect.header.Header;
import org.apache.kafka.connect.runtime.ConnectMetrics;
import org.apache.kafka.connect.runtime.ConnectorConfig;
import org.apache.kafka.connect.runtime.TransformationStage;
import org.apache.kafka.connect.runtime.isolation.Plugins;
import org.apache.kafka.connect.runtime.standalone.StandaloneConfig;
import org.apache.kafka.connect.source.SourceRecord;
import org.apache.kafka.connect.storage.Converter;
import org.apache.kafka.connect.storage.HeaderConverter;
import org.apache.kafka.connect.util.ConnectorTaskId;

/**
 * Sends records through the transforms and converters of connectors' configurations, with Connect's own classes.
 *
 * <p>Reads cases as JSON from standard input, and prints for each its records as they would be written, or the error
 * that would fail the connector or its task. Bytes are base64. A case may also be a text: a name, for which the full
 * name of the class is printed that Connect finds by it.
 */
public class Chains {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final String ANY = "org.apache.kafka.connect.converters.ByteArrayConverter";
    private static Plugins plugins;
    private static ConnectMetrics metrics;

    public static void main(String[] arguments) throws Exception {
        Map<String, String> worker = Map.of("plugin.discovery", "service_load", "bootstrap.servers", "none:9092",
                "offset.storage.file.filename", "none", "key.converter", ANY, "value.converter", ANY);
        plugins = new Plugins(worker);
        // A worker starts connectors and tasks so; only this loader knows short names.
        Thread.currentThread().setContextClassLoader(plugins.delegatingLoader());
        metrics = new ConnectMetrics("asked", new StandaloneConfig(worker), Time.SYSTEM, "asked");
        List<Object> answers = new ArrayList<>();
        for (JsonNode each : JSON.readTree(System.in)) {
            answers.add(each.isTextual() ? found(each.asText()) : answer(each));
        }
        System.out.println(JSON.writeValueAsString(answers));
    }

    private static String found(String name) {
        try {
            return plugins.delegatingLoader().loadClass(name).getName();
        } catch (ClassNotFoundException absent) {
            return null;
        }
    }

    private static Map<String, Object> answer(JsonNode asked) {
        Map<String, Object> answer = new LinkedHashMap<>();
        List<Object> records = new ArrayList<>();
        answer.put("records", records);
        try {
            Chain chain = new Chain(config(asked.get("config")));
            for (JsonNode record : asked.get("records")) {
                SourceRecord sent = chain.transformed(replicated(record));
                records.add(sent == null ? null : chain.written(sent));
            }
        } catch (Throwable failure) {
            StringBuilder said = new StringBuilder(failure.toString());
            for (Throwable cause = failure.getCause(); cause != null; cause = cause.getCause()) {
                said.append("; ").append(cause);
            }
            answer.put("error", said.toString());
        }
        return answer;
    }

    private static Map<String, String> config(JsonNode given) {
        Map<String, String> config = new HashMap<>();
        given.fields().forEachRemaining(each -> config.put(each.getKey(), each.getValue().asText()));
        return config;
    }

    /** A record as MirrorSourceTask.convertRecord makes it. */
    private static SourceRecord replicated(JsonNode record) throws Exception {
        ConnectHeaders headers = new ConnectHeaders();
        for (JsonNode header : record.get("headers")) {
            headers.addBytes(header.get(0).asText(), bytes(header.get(1)));
        }
        return new SourceRecord(Map.of(), Map.of(), record.get("topic").asText(), 0, Schema.OPTIONAL_BYTES_SCHEMA,
                bytes(record.get("key")), Schema.BYTES_SCHEMA, bytes(record.get("value")), 0L, headers);
    }

    private static byte[] bytes(JsonNode text) throws Exception {
        return text.isNull() ? null : text.binaryValue();
    }

    private static String base64(byte[] bytes) {
        return bytes == null ? null : Base64.getEncoder().encodeToString(bytes);
    }

    /** The transforms and converters of one connector. */
    private static class Chain {
        private final List<TransformationStage<SourceRecord>> stages;
        private final Converter key;
        private final Converter value;
        private final HeaderConverter header;

        Chain(Map<String, String> config) throws Exception {
            ConnectorConfig connector = new ConnectorConfig(plugins, config);
            stages = connector.transformationStages(plugins, new ConnectorTaskId("asked", 0), metrics);
            key = plugins.newConverter(connector, "key.converter", "key.converter.plugin.version");
            value = plugins.newConverter(connector, "value.converter", "value.converter.plugin.version");
            header = plugins.newHeaderConverter(connector, "header.converter", "header.converter.plugin.version");
        }

        SourceRecord transformed(SourceRecord record) {
            SourceRecord current = record;
            for (TransformationStage<SourceRecord> stage : stages) {
                current = current == null ? null : stage.apply(current);
            }
            return current;
        }

        /** Source: AbstractWorkerSourceTask.convertTransformedRecord. */
        Map<String, Object> written(SourceRecord record) {
            List<List<String>> headers = new ArrayList<>();
            for (Header each : record.headers()) {
                byte[] bytes = header.fromConnectHeader(record.topic(), each.key(), each.schema(), each.value());
                headers.add(Arrays.asList(each.key(), base64(bytes)));
            }
            Map<String, Object> written = new LinkedHashMap<>();
            written.put("topic", record.topic());
            written.put("key", base64(key.fromConnectData(record.topic(), record.keySchema(), record.key())));
            written.put("value", base64(value.fromConnectData(record.topic(), record.valueSchema(), record.value())));
            written.put("headers", headers);
            return written;
        }
    }
}
