-- Up Migration

-- Rows that no reader could show are refused, so that one of them hides no other. NOT VALID: rows that are there already
-- are left alone; the reader shows what it can of them.
-- 1000 is the largest MAX_BATCH_RECORDS; a ping and a conflict have no record. Places are integers that JSON can say.
ALTER TABLE events
  ADD CONSTRAINT events_state CHECK (kind IN ('write', 'ping') AND status IN ('committed', 'rejected', 'unknown')) NOT VALID,
  ADD CONSTRAINT events_places CHECK (record_count BETWEEN 0 AND 1000 AND first_index BETWEEN 0 AND 9007199254740991
    AND (indexes IS NULL OR (jsonb_typeof(indexes) = 'array' AND jsonb_array_length(indexes) <= 1000
      AND NOT jsonb_path_exists(indexes, 'strict $[*] ? (@.type() != "number")')
      AND NOT jsonb_path_exists(indexes, 'strict $[*] ? (@ < 0 || @ > 9007199254740991 || @ != @.floor())')))) NOT VALID,
  ADD CONSTRAINT events_names CHECK (
    jsonb_array_length(types) = jsonb_array_length(jsonb_path_query_array(types, 'strict $[*] ? (@.type() == "string")')))
    NOT VALID,
  -- Those of a request on Fabric: {id, channel, transactionId}.
  ADD CONSTRAINT events_records CHECK (records IS NULL OR (jsonb_typeof(records) = 'array'
    AND jsonb_array_length(records) <= 1000 AND jsonb_array_length(records) = jsonb_array_length(jsonb_path_query_array(records,
      'strict $[*] ? (@.id.type() == "string" && @.channel.type() == "string" && @.transactionId.type() == "string")')))) NOT VALID,
  ADD CONSTRAINT events_more CHECK (jsonb_array_length(more) <= 1000
    AND jsonb_array_length(more) = jsonb_array_length(jsonb_path_query_array(more,
      'strict $[*] ? (@.channel.type() == "string" && @.count >= 0 && @.count <= 1000
        && (@.first == null || (@.first >= 0 && @.first <= 9007199254740991))
        && (@.indexes == null || @.indexes.type() == "array"))'))) NOT VALID;
-- The view of these rows converts types, key_id and request_id; what cannot be converted fails every query.
ALTER TABLE writes
  ADD CONSTRAINT writes_places CHECK (record_count BETWEEN 0 AND 1000 AND first_index BETWEEN 0 AND 9007199254740991) NOT VALID,
  ADD CONSTRAINT writes_types CHECK (jsonb_typeof(types::jsonb) = 'array') NOT VALID,
  ADD CONSTRAINT writes_ids CHECK (
    CASE WHEN substr(key_id, 1, 1) = '\x00'::bytea THEN true ELSE convert_from(key_id, 'UTF8') IS NOT NULL END AND
    CASE WHEN substr(request_id, 1, 1) = '\x00'::bytea THEN true ELSE convert_from(request_id, 'UTF8') IS NOT NULL END) NOT VALID;
ALTER TABLE refused_deliveries
  ADD CONSTRAINT refused_deliveries_times CHECK (least(at, processed_at) >= 'epoch'
    AND greatest(at, processed_at) < '10000-01-01 00:00:00+00') NOT VALID;
ALTER TABLE kept_deliveries
  ADD CONSTRAINT kept_deliveries_times CHECK (keep_until >= 'epoch' AND keep_until < '10000-01-01 00:00:00+00') NOT VALID;

-- Down Migration

ALTER TABLE events DROP CONSTRAINT events_state, DROP CONSTRAINT events_places, DROP CONSTRAINT events_names,
  DROP CONSTRAINT events_records, DROP CONSTRAINT events_more;
ALTER TABLE writes DROP CONSTRAINT writes_places, DROP CONSTRAINT writes_types, DROP CONSTRAINT writes_ids;
ALTER TABLE refused_deliveries DROP CONSTRAINT refused_deliveries_times;
ALTER TABLE kept_deliveries DROP CONSTRAINT kept_deliveries_times;
