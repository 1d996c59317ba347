import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;
import java.util.regex.PatternSyntaxException;

/** Reads {@code {pattern: [name, …]}} and prints the names that each pattern matches, or null if it does not compile. */
class Patterns {
    public static void main(String[] arguments) throws Exception {
        ObjectMapper json = new ObjectMapper();
        Map<String, List<String>> asked = json.readValue(System.in, Map.class);
        Map<String, List<String>> answers = new LinkedHashMap<>();
        asked.forEach((pattern, names) -> answers.put(pattern, matched(pattern, names)));
        System.out.println(json.writeValueAsString(answers));
    }

    private static List<String> matched(String pattern, List<String> names) {
        try {
            Pattern compiled = Pattern.compile(pattern);
            List<String> found = new ArrayList<>(names);
            found.removeIf(name -> !compiled.matcher(name).matches());
            return found;
        } catch (PatternSyntaxException refused) {
            return null;
        }
    }
}
