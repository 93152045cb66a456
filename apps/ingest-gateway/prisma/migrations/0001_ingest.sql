-- Up Migration

-- A network that was deleted keeps its row: its id is never given twice.
CREATE TABLE networks (
  network_id      text PRIMARY KEY COLLATE "C",
  name            text,
  channels        text[]      NOT NULL CHECK (cardinality(channels) > 0),
  rate_per_second integer     CHECK (rate_per_second > 0),
  burst           integer     CHECK (burst > 0),
  created_at      timestamptz NOT NULL DEFAULT now(),
  deleted_at      timestamptz,
  CHECK ((rate_per_second IS NULL) = (burst IS NULL))
);

-- What was done, never what was in it. event_id begins with its time, so the newest is the highest.
-- kind is write or ping; status committed, rejected or unknown. units is what the ledger answered:
-- [{"channel", "transactionId", "first", "count", "indexes"}].
CREATE TABLE events (
  event_id        text        PRIMARY KEY COLLATE "C",
  network_id      text        NOT NULL COLLATE "C",
  key_id          text        NOT NULL,
  kind            text        NOT NULL,
  status          text        NOT NULL,
  types           text[]      NOT NULL,
  units           jsonb       NOT NULL,
  request_id      text        NOT NULL,
  stripped_fields integer     NOT NULL,
  at              timestamptz NOT NULL
);

CREATE INDEX events_by_network ON events (network_id, event_id);

-- ledger.append_v1 with the event of each unit in the same transaction. Same parameters, same answer.
-- The note of a unit is {"eventId", "keyId", "requestId", "strippedFields", "types", "units"}; "units" is how many
-- transactions (channels) the request has in all: until each is in, the event says unknown.
CREATE FUNCTION append_v1(
  unit_channel text[], unit_network text[], unit_claim bytea[], unit_fingerprint text[], unit_transaction bytea[],
  unit_nonce bytea[], unit_note text[], unit_at bigint[], unit_records integer[],
  record_unit integer[], record_id text[], record_type text[], record_owner text[], record_data text[],
  record_extra text[], record_salt bytea[], record_data_hash bytea[], record_leaf_hash bytea[])
RETURNS TABLE (unit integer, outcome text, first_index bigint, detail json)
LANGUAGE plpgsql SET search_path = ingest, pg_temp AS $$
#variable_conflict use_column
DECLARE
  outcomes text[];
  firsts   bigint[];
  details  json[];
BEGIN
  SELECT array_agg(a.outcome ORDER BY a.unit), array_agg(a.first_index ORDER BY a.unit), array_agg(a.detail ORDER BY a.unit)
    INTO outcomes, firsts, details
    FROM ledger.append_v1(unit_channel, unit_network, unit_claim, unit_fingerprint, unit_transaction, unit_nonce,
           unit_note, unit_at, unit_records, record_unit, record_id, record_type, record_owner, record_data,
           record_extra, record_salt, record_data_hash, record_leaf_hash) a;

  INSERT INTO events (event_id, network_id, key_id, kind, status, types, units, request_id, stripped_fields, at)
    SELECT n."eventId", u.network, n."keyId", 'write',
           CASE WHEN u.outcome = 'conflict' THEN 'rejected' WHEN n.units > 1 THEN 'unknown' ELSE 'committed' END,
           ARRAY(SELECT json_array_elements_text(n.types)),
           CASE WHEN u.outcome = 'conflict' THEN '[]'::jsonb ELSE jsonb_build_array(jsonb_build_object(
             'channel', u.channel, 'transactionId', encode(u.transaction_id, 'hex'),
             'first', u.first_index, 'count', u.records,
             'indexes', (SELECT json_agg(r ->> 'index') FROM json_array_elements(u.detail -> 'records') r))) END,
           n."requestId", n."strippedFields", to_timestamp(u.at_ms / 1000.0)
      FROM unnest(unit_network, unit_channel, unit_transaction, unit_note, unit_at, unit_records, outcomes, firsts, details)
             u (network, channel, transaction_id, note, at_ms, records, outcome, first_index, detail),
           json_to_record(u.note::json)
             n ("eventId" text, "keyId" text, "requestId" text, "strippedFields" integer, types json, units integer)
     WHERE u.outcome IN ('written', 'existing', 'conflict')
     ORDER BY 1
  ON CONFLICT (event_id) DO UPDATE
     SET units = events.units || EXCLUDED.units,
         status = CASE WHEN EXCLUDED.status = 'rejected' THEN events.status
                       WHEN jsonb_array_length(events.units) + 1 >=
                            (SELECT max((o.note::json ->> 'units')::integer) FROM unnest(unit_note) o (note)
                              WHERE o.note::json ->> 'eventId' = events.event_id) THEN 'committed'
                       ELSE events.status END
   WHERE NOT events.units @> EXCLUDED.units OR EXCLUDED.units = '[]'::jsonb;

  RETURN QUERY
    SELECT o.ordinal::integer, o.outcome, o.first_index, o.detail
      FROM unnest(outcomes, firsts, details) WITH ORDINALITY o (outcome, first_index, detail, ordinal)
     ORDER BY o.ordinal;
END $$;

-- Down Migration

DROP FUNCTION append_v1;
DROP TABLE events, networks;
