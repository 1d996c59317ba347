import com.fasterxml.jackson.databind.ObjectMapper;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.kafka.common.utils.Utils;
import org.apache.kafka.connect.mirror.MirrorMakerConfig;
import org.apache.kafka.connect.mirror.MirrorSourceConnector;
import org.apache.kafka.connect.mirror.SourceAndTarget;

/** Reads the file of a dedicated MirrorMaker, and prints what MirrorMaker makes of it for each pair of clusters. */
class Dedicated {
    public static void main(String[] arguments) throws Exception {
        Path file = Files.createTempFile("mm2", ".properties");
        try {
            Files.write(file, System.in.readAllBytes());
            Map<String, String> given = Utils.propsToStringMap(Utils.loadProps(file.toString()));
            MirrorMakerConfig config = new MirrorMakerConfig(given);
            List<Object> pairs = new ArrayList<>();
            for (SourceAndTarget pair : config.clusterPairs()) {
                pairs.add(Map.of("pair", pair.toString(), "worker", new TreeMap<>(config.workerConfig(pair)),
                        "connector", new TreeMap<>(config.connectorBaseConfig(pair, MirrorSourceConnector.class))));
            }
            System.out.println(new ObjectMapper().writeValueAsString(Map.of("given", given, "pairs", pairs)));
        } finally {
            Files.delete(file);
        }
    }
}
