package com.cloudera.dim.kafka.connect.transforms;

import java.util.HashMap;
import java.util.Map;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.connect.connector.ConnectRecord;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.data.SchemaAndValue;
import org.apache.kafka.connect.storage.Converter;
import org.apache.kafka.connect.transforms.Transformation;

/** What both stand-ins share: the converter, its properties, and which half of a record it converts. */
abstract class Converting<R extends ConnectRecord<R>> implements Transformation<R> {
    private static final String CONVERTER = "converter";
    protected Converter converter;
    protected boolean isKey;

    protected abstract SchemaAndValue converted(R record);

    protected Object value(R record) {
        return isKey ? record.key() : record.value();
    }

    protected Schema schema(R record) {
        return isKey ? record.keySchema() : record.valueSchema();
    }

    @Override
    public R apply(R record) {
        SchemaAndValue it = converted(record);
        return isKey
                ? record.newRecord(record.topic(), record.kafkaPartition(), it.schema(), it.value(),
                        record.valueSchema(), record.value(), record.timestamp())
                : record.newRecord(record.topic(), record.kafkaPartition(), record.keySchema(), record.key(),
                        it.schema(), it.value(), record.timestamp());
    }

    @Override
    public void configure(Map<String, ?> properties) {
        try {
            converter = (Converter) Class.forName((String) properties.get(CONVERTER)).getConstructor().newInstance();
        } catch (ReflectiveOperationException failure) {
            throw new IllegalArgumentException(failure);
        }
        Map<String, Object> ofConverter = new HashMap<>();
        properties.forEach((key, value) -> {
            if (key.startsWith(CONVERTER + ".")) {
                ofConverter.put(key.substring(CONVERTER.length() + 1), value);
            }
        });
        converter.configure(ofConverter, isKey);
    }

    @Override
    public ConfigDef config() {
        return new ConfigDef().define(CONVERTER, ConfigDef.Type.STRING, ConfigDef.Importance.HIGH, "");
    }

    @Override
    public void close() {}
}
