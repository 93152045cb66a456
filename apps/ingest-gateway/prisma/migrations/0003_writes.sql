-- Up Migration

-- Events of requests that were written by a single transaction, which is nearly all of them. Therefore compact:
-- columns ordered without padding, and one index. All others are in events. The other members of an event follow from
-- these: event_id is the 32 digits of its text form and contains the time; channel_name is relative to the network;
-- key_id and request_id are packed; types is a JSON array.
CREATE TABLE writes (
  event_id        uuid    NOT NULL,
  first_index     bigint  NOT NULL,
  record_count    integer NOT NULL,
  stripped_fields integer NOT NULL,
  network_id      text    NOT NULL COLLATE "C",
  channel_name    text    NOT NULL COLLATE "C",
  key_id          bytea   NOT NULL,
  request_id      bytea   NOT NULL,
  types           text    NOT NULL COLLATE "C",
  PRIMARY KEY (network_id, event_id)
);

-- A generated id, a prefix and 32 digits, is packed into a zero byte and 16 bytes; any other id, such as a sender's
-- request id, stays text. No text starts with a zero byte.
CREATE FUNCTION packed_id(id text, prefix text) RETURNS bytea LANGUAGE sql STABLE
RETURN CASE WHEN starts_with(id, prefix) AND length(id) = length(prefix) + 32
              AND ltrim(convert_to(right(id, 32), 'UTF8'), '0123456789abcdef'::bytea) = ''::bytea
            THEN decode('00' || right(id, 32), 'hex') ELSE convert_to(id, 'UTF8') END;

CREATE FUNCTION unpacked_id(packed bytea, prefix text) RETURNS text LANGUAGE sql STABLE
RETURN CASE WHEN starts_with(encode(packed, 'hex'), '00') THEN prefix || encode(substr(packed, 2), 'hex')
            ELSE convert_from(packed, 'UTF8') END;

-- Each write as a row of events; id is for conditions that must use the index.
CREATE VIEW write_events AS
  SELECT w.event_id AS id, 'evt_' || encode(uuid_send(w.event_id), 'hex') AS event_id, w.network_id, unpacked_id(w.key_id, 'key_') AS key_id,
         w.types::jsonb AS types, w.network_id || '.' || w.channel_name AS channel, w.first_index, w.record_count,
         unpacked_id(w.request_id, 'req_') AS request_id, w.stripped_fields,
         to_timestamp(('x' || encode(substr(uuid_send(w.event_id), 1, 6), 'hex'))::bit(48)::bigint / 1000.0) AS at
    FROM writes w;

-- ledger.append_many, with the event of each unit written in the same transaction. Its parameters, and unit_event, the
-- members of the event that are not in the note: key id, request id, types, separated by tabs. The note, likewise:
-- event id, empty, number of transactions of the request, number of stripped fields, and fields read by earlier
-- versions only. See domain/unit-note.ts. Out: one row per unit, in order.
CREATE FUNCTION append_many_v1(
  unit_channel text[], unit_network text[], unit_claim bytea[], unit_fingerprint text[], unit_transaction bytea[],
  unit_nonce bytea[], unit_note text[], unit_at bigint[], unit_records integer[],
  record_unit integer[], record_id text[], record_type text[], record_owner text[], record_data text[],
  record_extra text[], record_salt bytea[], record_leaf_hash bytea[], unit_event text[])
RETURNS TABLE (outcome text, first_index bigint, detail json)
LANGUAGE plpgsql SET search_path = ingest, pg_temp SET jit = off
  SET enable_seqscan = off SET plan_cache_mode = force_generic_plan AS $$
#variable_conflict use_column
DECLARE
  outcomes text[];
  firsts   bigint[];
  details  json[];
BEGIN
  SELECT array_agg(a.outcome ORDER BY a.unit), array_agg(a.first_index ORDER BY a.unit), array_agg(a.detail ORDER BY a.unit)
    INTO outcomes, firsts, details
    FROM ledger.append_many(unit_channel, unit_network, unit_claim, unit_fingerprint, unit_transaction, unit_nonce,
           unit_note, unit_at, unit_records, record_unit, record_id, record_type,
           record_owner, record_data, record_extra, record_salt, record_leaf_hash) a;
  INSERT INTO events (event_id, network_id, key_id, kind, status, types, channel, transaction_id, first_index,
                      record_count, indexes, request_id, stripped_fields, at)
    SELECT u.note[1], u.network, u.event[1], 'write',
           CASE WHEN u.outcome = 'conflict' THEN 'rejected' WHEN u.note[3] <> '1' THEN 'unknown' ELSE 'committed' END,
           u.event[3]::jsonb, CASE WHEN u.outcome <> 'conflict' THEN u.channel END, u.transaction_id, u.first_index,
           CASE WHEN u.outcome = 'conflict' THEN 0 ELSE u.records END,
           CASE WHEN u.detail IS NOT NULL THEN jsonb_path_query_array(u.detail::jsonb, '$.records[*].index') END,
           u.event[2], u.note[4]::integer, to_timestamp(u.at_ms / 1000.0)
      FROM (SELECT string_to_array(n.note, E'\t') AS note, string_to_array(n.event, E'\t') AS event, n.network,
                   n.channel, n.transaction_id, n.at_ms, n.records, n.outcome, n.first_index, n.detail
              FROM unnest(unit_network, unit_channel, unit_note, unit_event, unit_transaction, unit_at, unit_records, outcomes,
                          firsts, details)
                   n (network, channel, note, event, transaction_id, at_ms, records, outcome, first_index, detail)) u
     WHERE u.outcome IN ('written', 'existing', 'conflict')
       -- A call that is sent again finds the event of its first time.
       AND NOT EXISTS (SELECT FROM writes w WHERE w.network_id = u.network AND w.event_id = substr(u.note[1], 5)::uuid)
     ORDER BY 1
  ON CONFLICT (event_id) DO UPDATE
     SET more = events.more || jsonb_build_object('channel', EXCLUDED.channel,
           'transactionId', encode(EXCLUDED.transaction_id, 'hex'), 'first', EXCLUDED.first_index,
           'count', EXCLUDED.record_count, 'indexes', EXCLUDED.indexes),
         status = CASE WHEN jsonb_array_length(events.more) + 2 >=
                            (SELECT max(split_part(o.note, E'\t', 3)::integer) FROM unnest(unit_note) o (note)
                              WHERE split_part(o.note, E'\t', 1) = events.event_id) THEN 'committed'
                       ELSE events.status END
   WHERE EXCLUDED.channel IS NOT NULL AND EXCLUDED.channel IS DISTINCT FROM events.channel
     AND NOT events.more @> jsonb_build_array(jsonb_build_object('channel', EXCLUDED.channel));
  RETURN QUERY
    SELECT o.outcome, o.first_index, o.detail
      FROM unnest(outcomes, firsts, details) WITH ORDINALITY o (outcome, first_index, detail, ordinal) ORDER BY o.ordinal;
END $$;

-- Down Migration

INSERT INTO events (event_id, network_id, key_id, kind, status, types, channel, first_index, record_count, request_id,
                    stripped_fields, at)
  SELECT event_id, network_id, key_id, 'write', 'committed', types, channel, first_index, record_count, request_id,
         stripped_fields, at FROM write_events
  ON CONFLICT DO NOTHING;
DROP FUNCTION append_many_v1;
DROP VIEW write_events;
DROP FUNCTION packed_id, unpacked_id;
DROP TABLE writes;
