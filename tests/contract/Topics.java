import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.connect.mirror.DefaultReplicationPolicy;
import org.apache.kafka.connect.mirror.DefaultTopicFilter;

/** Reads names of topics; prints those that MirrorMaker excludes by default, and those it holds for internal. */
class Topics {
    public static void main(String[] arguments) throws Exception {
        ObjectMapper json = new ObjectMapper();
        List<String> names = json.readValue(System.in, List.class);
        DefaultTopicFilter filter = new DefaultTopicFilter();
        filter.configure(Map.of());
        Map<String, List<String>> answers = new LinkedHashMap<>();
        answers.put("excluded", kept(names, name -> !filter.shouldReplicateTopic(name)));
        for (String separator : List.of(".", "_", "-")) {
            DefaultReplicationPolicy policy = new DefaultReplicationPolicy();
            policy.configure(Map.of("replication.policy.separator", separator));
            answers.put(separator, kept(names, policy::isInternalTopic));
        }
        System.out.println(json.writeValueAsString(answers));
    }

    private static List<String> kept(List<String> names, java.util.function.Predicate<String> wanted) {
        List<String> found = new ArrayList<>(names);
        found.removeIf(wanted.negate());
        return found;
    }
}
