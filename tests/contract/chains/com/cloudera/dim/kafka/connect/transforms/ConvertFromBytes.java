package com.cloudera.dim.kafka.connect.transforms;

import org.apache.kafka.connect.connector.ConnectRecord;
import org.apache.kafka.connect.data.SchemaAndValue;

/** Parses a key or value from bytes with the converter that it is given. A stand-in: the vendor's jar is not public. */
public abstract class ConvertFromBytes<R extends ConnectRecord<R>> extends Converting<R> {
    public static class Key<R extends ConnectRecord<R>> extends ConvertFromBytes<R> {
        public Key() {
            isKey = true;
        }
    }

    public static class Value<R extends ConnectRecord<R>> extends ConvertFromBytes<R> {}

    @Override
    protected SchemaAndValue converted(R record) {
        return converter.toConnectData(record.topic(), (byte[]) value(record));
    }
}
