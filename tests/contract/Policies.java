import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.lang.reflect.Constructor;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.Configurable;
import org.apache.kafka.connect.mirror.ConfigPropertyFilter;
import org.apache.kafka.connect.mirror.MirrorSourceConnector;
import org.apache.kafka.connect.mirror.ReplicationPolicy;
import org.apache.kafka.connect.mirror.SourceAndTarget;
import org.apache.kafka.connect.mirror.TopicFilter;

/**
 * Reads policies (class, separator, aliases of source and target), each with names of topics, and prints for each name
 * what MirrorMaker makes of it: whether it is a cycle, whether it is a heartbeat topic, and the aliases in it.
 */
class Policies {
    public static void main(String[] arguments) throws Exception {
        ObjectMapper json = new ObjectMapper();
        List<Object> answers = new ArrayList<>();
        for (JsonNode asked : json.readTree(System.in)) {
            answers.add(answer(asked));
        }
        System.out.println(json.writeValueAsString(answers));
    }

    private static List<Object> answer(JsonNode asked) throws Exception {
        String source = asked.get("source").asText();
        ReplicationPolicy policy =
                (ReplicationPolicy) Class.forName(asked.get("class").asText()).getConstructor().newInstance();
        ((Configurable) policy).configure(Map.of("replication.policy.separator", asked.get("separator").asText(),
                "source.cluster.alias", source));
        // Neither this constructor nor the method is public.
        Constructor<MirrorSourceConnector> made = MirrorSourceConnector.class.getDeclaredConstructor(
                SourceAndTarget.class, ReplicationPolicy.class, TopicFilter.class, ConfigPropertyFilter.class);
        made.setAccessible(true);
        Method isCycle = MirrorSourceConnector.class.getDeclaredMethod("isCycle", String.class);
        isCycle.setAccessible(true);
        MirrorSourceConnector connector =
                made.newInstance(new SourceAndTarget(source, asked.get("target").asText()), policy, null, null);
        List<Object> answers = new ArrayList<>();
        for (JsonNode topic : asked.get("topics")) {
            String name = topic.asText();
            answers.add(List.of(
                    isCycle.invoke(connector, name), policy.isHeartbeatsTopic(name), aliases(policy, name)));
        }
        return answers;
    }

    /** Source: MirrorClient.countHopsForTopic. */
    private static List<String> aliases(ReplicationPolicy policy, String topic) {
        List<String> found = new ArrayList<>();
        String rest = topic;
        for (String source = policy.topicSource(rest); source != null; source = policy.topicSource(rest)) {
            found.add(source);
            String before = rest;
            rest = policy.upstreamTopic(rest);
            if (before.equals(rest)) {
                break;
            }
        }
        return found;
    }
}
