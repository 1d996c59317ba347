package com.cloudera.dim.kafka.connect.transforms;

import org.apache.kafka.connect.connector.ConnectRecord;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.data.SchemaAndValue;

/** Writes a key or value as bytes with the converter that it is given. A stand-in: the vendor's jar is not public. */
public abstract class ConvertToBytes<R extends ConnectRecord<R>> extends Converting<R> {
    public static class Key<R extends ConnectRecord<R>> extends ConvertToBytes<R> {
        public Key() {
            isKey = true;
        }
    }

    public static class Value<R extends ConnectRecord<R>> extends ConvertToBytes<R> {}

    @Override
    protected SchemaAndValue converted(R record) {
        byte[] bytes = converter.fromConnectData(record.topic(), schema(record), value(record));
        return new SchemaAndValue(Schema.OPTIONAL_BYTES_SCHEMA, bytes);
    }
}
