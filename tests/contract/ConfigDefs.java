import com.fasterxml.jackson.databind.ObjectMapper;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.common.config.ConfigException;
import org.apache.kafka.connect.runtime.distributed.Crypto;

/**
 * Prints Kafka's ConfigDefs as JSON: section -> properties, as they stand in the classes on the class path.
 *
 * <p>Each argument is {@code section=class#member}, the member a static field or method that holds a ConfigDef; many
 * are not public. Run as a single source file; property_definitions.py does so.
 */
class ConfigDefs {
    public static void main(String[] arguments) throws Exception {
        Map<String, List<Map<String, Object>>> sections = new LinkedHashMap<>();
        for (String argument : arguments) {
            String[] parts = argument.split("[=#]");
            sections.put(parts[0], properties(configDef(Class.forName(parts[1]), parts[2])));
        }
        System.out.println(new ObjectMapper().writeValueAsString(sections));
    }

    private static ConfigDef configDef(Class<?> owner, String member) throws ReflectiveOperationException {
        for (Field field : owner.getDeclaredFields()) {
            if (field.getName().equals(member)) {
                field.setAccessible(true);
                return (ConfigDef) field.get(null);
            }
        }
        try {
            Method method = owner.getDeclaredMethod(member);
            method.setAccessible(true);
            return (ConfigDef) method.invoke(null);
        } catch (NoSuchMethodException absent) {
            // A worker's ConfigDef asks which algorithms this JVM has.
            Method method = owner.getDeclaredMethod(member, Crypto.class);
            method.setAccessible(true);
            return (ConfigDef) method.invoke(null, Crypto.SYSTEM);
        }
    }

    private static List<Map<String, Object>> properties(ConfigDef configDef) {
        List<Map<String, Object>> properties = new ArrayList<>();
        for (ConfigDef.ConfigKey key : configDef.configKeys().values()) {
            properties.add(property(key));
        }
        return properties;
    }

    private static Map<String, Object> property(ConfigDef.ConfigKey key) {
        Map<String, Object> property = new LinkedHashMap<>();
        property.put("name", key.name);
        property.put("type", key.type.name());
        property.put("required", !key.hasDefault());
        boolean told = key.hasDefault() && key.type != ConfigDef.Type.PASSWORD;
        property.put("default", told ? ConfigDef.convertToString(key.defaultValue, key.type) : null);
        property.put("importance", key.importance.name());
        property.put("documentation", key.documentation);
        property.put("internal", key.internalConfig);
        property.put("validator", key.validator == null ? null : key.validator.toString());
        property.put("validatorClass", key.validator == null ? null : key.validator.getClass().getSimpleName());
        boolean list = key.type == ConfigDef.Type.LIST;
        property.put("refusesEmpty", refuses(key, list ? List.of() : "") && (list || !refuses(key, "a")));
        property.put("refusesRepeated", list && refuses(key, List.of("a", "a")) && !refuses(key, List.of("a")));
        return property;
    }

    private static boolean refuses(ConfigDef.ConfigKey key, Object value) {
        boolean fits = key.type == ConfigDef.Type.LIST || key.type == ConfigDef.Type.STRING;
        try {
            if (fits && key.validator != null) {
                key.validator.ensureValid(key.name, value);
            }
            return false;
        } catch (ConfigException refused) {
            return true;
        }
    }
}
