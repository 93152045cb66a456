-- Up Migration

-- A deleted network keeps its row, so that its id is never reused.
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

-- Results of requests, without the data of records. event_id starts with its time, so the newest is the highest. kind
-- is write or ping; status committed, rejected or unknown. The transaction of the first channel has columns of its
-- own (indexes is null where its records follow first_index without a gap); those of further channels are in more.
CREATE TABLE events (
  event_id        text        PRIMARY KEY COLLATE "C",
  network_id      text        NOT NULL COLLATE "C",
  key_id          text        NOT NULL,
  kind            text        NOT NULL,
  status          text        NOT NULL,
  types           jsonb       NOT NULL,
  channel         text,
  transaction_id  bytea,
  first_index     bigint,
  record_count    integer     NOT NULL DEFAULT 0,
  indexes         jsonb,
  more            jsonb       NOT NULL DEFAULT '[]',
  request_id      text        NOT NULL,
  stripped_fields integer     NOT NULL,
  at              timestamptz NOT NULL
);

CREATE INDEX events_by_network ON events (network_id, event_id);

-- ledger.append_v1, with the event of each unit written in the same transaction. Same parameters and result. The note
-- of a unit (domain/unit-note.ts): event id, key id, number of transactions of the request, number of stripped
-- fields, request id, types as a JSON array. Separated by tabs, because JSON would be parsed once per member. Until
-- all transactions of a request are committed, its event has status unknown.
CREATE FUNCTION append_v1(
  unit_channel text[], unit_network text[], unit_claim bytea[], unit_fingerprint text[], unit_transaction bytea[],
  unit_nonce bytea[], unit_note text[], unit_at bigint[], unit_records integer[],
  record_unit integer[], record_id text[], record_type text[], record_owner text[], record_data text[],
  record_extra text[], record_salt bytea[], record_data_hash bytea[], record_leaf_hash bytea[])
RETURNS TABLE (unit integer, outcome text, first_index bigint, detail json)
LANGUAGE plpgsql SET search_path = ingest, pg_temp
  SET enable_seqscan = off SET plan_cache_mode = force_generic_plan AS $$
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

  INSERT INTO events (event_id, network_id, key_id, kind, status, types, channel, transaction_id, first_index,
                      record_count, indexes, request_id, stripped_fields, at)
    SELECT split_part(u.note, E'\t', 1), u.network, split_part(u.note, E'\t', 2), 'write',
           CASE WHEN u.outcome = 'conflict' THEN 'rejected'
                WHEN split_part(u.note, E'\t', 3) <> '1' THEN 'unknown' ELSE 'committed' END,
           split_part(u.note, E'\t', 6)::jsonb, CASE WHEN u.outcome <> 'conflict' THEN u.channel END, u.transaction_id,
           u.first_index, CASE WHEN u.outcome = 'conflict' THEN 0 ELSE u.records END,
           CASE WHEN u.detail IS NOT NULL THEN jsonb_path_query_array(u.detail::jsonb, '$.records[*].index') END,
           split_part(u.note, E'\t', 5), split_part(u.note, E'\t', 4)::integer, to_timestamp(u.at_ms / 1000.0)
      FROM unnest(unit_network, unit_channel, unit_transaction, unit_note, unit_at, unit_records, outcomes, firsts,
                  details) u (network, channel, transaction_id, note, at_ms, records, outcome, first_index, detail)
     WHERE u.outcome IN ('written', 'existing', 'conflict')
     ORDER BY 1
  ON CONFLICT (event_id) DO UPDATE
     SET more = events.more || jsonb_build_object('channel', EXCLUDED.channel,
           'transactionId', encode(EXCLUDED.transaction_id, 'hex'), 'first', EXCLUDED.first_index,
           'count', EXCLUDED.record_count, 'indexes', EXCLUDED.indexes),
         status = CASE WHEN jsonb_array_length(events.more) + 2 >=
                            (SELECT max(split_part(o.note, E'\t', 3)::integer) FROM unnest(unit_note) o (note)
                              WHERE split_part(o.note, E'\t', 1) = events.event_id) THEN 'committed'
                       ELSE events.status END
   -- A call that is sent again finds the event of its first time.
   WHERE EXCLUDED.channel IS NOT NULL AND EXCLUDED.channel IS DISTINCT FROM events.channel
     AND NOT events.more @> jsonb_build_array(jsonb_build_object('channel', EXCLUDED.channel));

  RETURN QUERY
    SELECT o.ordinal::integer, o.outcome, o.first_index, o.detail
      FROM unnest(outcomes, firsts, details) WITH ORDINALITY o (outcome, first_index, detail, ordinal)
     ORDER BY o.ordinal;
END $$;

-- Down Migration

DROP FUNCTION append_v1;
DROP TABLE events, networks;
