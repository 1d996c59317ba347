import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.lang.reflect.Constructor;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.TopicPartition;

/**
 * Feeds offset syncs to MirrorMaker's own OffsetSyncStore and prints what it translates after each, as JSON.
 *
 * <p>Standard input holds cases {@code {mustReadToEnd, loaded, syncs: [[upstream, downstream]], asked: [upstream]}}: the
 * first {@code loaded} syncs are read before the store counts as loaded. Run as a single source file;
 * test_offset_sync_store.py does so.
 */
class OffsetSyncs {
    private static final TopicPartition PARTITION = new TopicPartition("orders", 0);
    private static Class<?> owner;

    public static void main(String[] arguments) throws Exception {
        owner = Class.forName("org.apache.kafka.connect.mirror.OffsetSyncStore");
        ObjectMapper json = new ObjectMapper();
        List<List<List<Long>>> answers = new ArrayList<>();
        for (JsonNode each : json.readTree(System.in)) {
            answers.add(answers(each));
        }
        System.out.println(json.writeValueAsString(answers));
    }

    private static List<List<Long>> answers(JsonNode asked) throws Exception {
        Constructor<?> constructor = owner.getDeclaredConstructor();
        constructor.setAccessible(true);
        Object store = constructor.newInstance();
        set(store, "initializationMustReadToEnd", asked.get("mustReadToEnd").asBoolean());
        Method handle = owner.getDeclaredMethod("handleRecord", ConsumerRecord.class);
        handle.setAccessible(true);
        List<List<Long>> found = new ArrayList<>();
        int read = 0;
        for (JsonNode sync : asked.get("syncs")) {
            set(store, "readToEnd", read++ >= asked.get("loaded").asInt());
            handle.invoke(store, record(sync.get(0).asLong(), sync.get(1).asLong()));
            List<Long> translated = new ArrayList<>();
            for (JsonNode upstream : asked.get("asked")) {
                translated.add(translated(store, upstream.asLong()));
            }
            found.add(translated);
        }
        return found;
    }

    private static Long translated(Object store, long upstream) throws Exception {
        Method translate =
                owner.getDeclaredMethod("translateDownstream", String.class, TopicPartition.class, long.class);
        translate.setAccessible(true);
        OptionalLong downstream = (OptionalLong) translate.invoke(store, "group", PARTITION, upstream);
        return downstream.isPresent() ? downstream.getAsLong() : null;
    }

    private static void set(Object store, String name, boolean value) throws Exception {
        Field field = owner.getDeclaredField(name);
        field.setAccessible(true);
        field.setBoolean(store, value);
    }

    private static ConsumerRecord<byte[], byte[]> record(long upstream, long downstream) {
        byte[] topic = PARTITION.topic().getBytes(StandardCharsets.UTF_8);
        byte[] key = ByteBuffer.allocate(topic.length + 6).putShort((short) topic.length).put(topic).putInt(0).array();
        byte[] value = ByteBuffer.allocate(16).putLong(upstream).putLong(downstream).array();
        return new ConsumerRecord<>("syncs", 0, 0, key, value);
    }
}
