-- Up Migration

-- Keys of existing networks, with all columns that a request depends on and none that changes by use. The hash of a
-- row is the version of the caller. Expiry is checked by the reader, against its own clock.
CREATE VIEW callers AS
  SELECT k.id, k.key_hash, k.family_id, k.owner_id, k.grants, k.revoked_at, k.expires_at, k.overlap_until, n.channels,
         n.rate_per_second, n.burst
    FROM api_keys k JOIN networks n ON n.network_id = k.owner_id AND n.deleted_at IS NULL;

-- Fails the call if one of the guards (`kind id version`, or null) is stale. The error detail lists the stale ones,
-- one per line. Each kind is a branch that must find its single row by an index, hence the explicit collations. It
-- inherits the settings of the functions below.
CREATE FUNCTION confirm_guards(unit_guard text[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  stale text;
BEGIN
  SELECT string_agg(g.guard, E'\n') INTO stale
    FROM (SELECT DISTINCT u.guard FROM unnest(unit_guard) u (guard) WHERE u.guard IS NOT NULL) g
   WHERE split_part(g.guard, ' ', 3) IS DISTINCT FROM
         CASE split_part(g.guard, ' ', 1)
           WHEN 'key' THEN
             (SELECT hash_record_extended(c, 0)::text FROM callers c
               WHERE c.id = split_part(g.guard, ' ', 2) COLLATE "default" AND c.revoked_at IS NULL)
           WHEN 'source' THEN
             (SELECT hash_record_extended(s, 0)::text FROM live_sources s
               WHERE s.source_id = split_part(g.guard, ' ', 2) COLLATE "C")
         END;
  IF stale IS NOT NULL THEN
    RAISE EXCEPTION 'guards of the call are stale' USING ERRCODE = 'SG001', DETAIL = stale;
  END IF;
END $$;

-- append_many_v1 with guards: confirms the guards of the units that it writes, in a statement of its own after the
-- head locks are taken. So it sees everything committed before the call was sent, or while it waited. The caller must
-- confirm replays and reuses itself.
CREATE FUNCTION append_many_v2(
  unit_channel text[], unit_network text[], unit_claim bytea[], unit_fingerprint text[], unit_transaction bytea[],
  unit_nonce bytea[], unit_note text[], unit_at bigint[], unit_records integer[],
  record_unit integer[], record_id text[], record_type text[], record_owner text[], record_data text[],
  record_extra text[], record_salt bytea[], record_leaf_hash bytea[], unit_event text[],
  unit_guard text[])
RETURNS TABLE (outcome text, first_index bigint, detail json)
LANGUAGE plpgsql SET search_path = ingest, pg_temp SET jit = off
  SET enable_seqscan = off SET plan_cache_mode = force_generic_plan AS $$
DECLARE
  at      integer := 0;
  guarded text[];  -- of the units that were written
BEGIN
  FOR outcome, first_index, detail IN
    SELECT a.outcome, a.first_index, a.detail
      FROM append_many_v1(unit_channel, unit_network, unit_claim, unit_fingerprint, unit_transaction, unit_nonce, unit_note,
             unit_at, unit_records, record_unit, record_id, record_type, record_owner, record_data, record_extra, record_salt,
             record_leaf_hash, unit_event) a
  LOOP
    at := at + 1;
    IF outcome NOT IN ('replayed', 'reused') THEN
      guarded := guarded || unit_guard[at];
    END IF;
    RETURN NEXT;
  END LOOP;
  PERFORM confirm_guards(guarded);
END $$;

-- The same with guards for units of one channel, using ledger.append_new where each is new
-- and the whole of its request.
CREATE FUNCTION append_v3(
  of_channel text, of_network text, carefully boolean,
  unit_claim bytea[], unit_fingerprint text[], unit_transaction bytea[], unit_nonce bytea[], unit_note text[],
  unit_at bigint[], unit_records integer[],
  record_unit integer[], record_id text[], record_type text[], record_owner text[], record_data text[],
  record_extra text[], record_salt bytea[], record_leaf_hash bytea[], unit_event text[],
  unit_guard text[])
RETURNS TABLE (outcome text, first_index bigint, detail json)
LANGUAGE plpgsql SET search_path = ingest, pg_temp SET jit = off
  SET enable_seqscan = off SET plan_cache_mode = force_generic_plan AS $$
#variable_conflict use_column
DECLARE
  units CONSTANT integer[] := ARRAY[cardinality(unit_records)];
  base  bigint;
BEGIN
  IF NOT carefully AND NOT EXISTS (SELECT FROM unnest(unit_note) n (note) WHERE split_part(n.note, E'\t', 3) <> '1') THEN
    base := ledger.append_new(of_channel, unit_claim, unit_fingerprint, unit_transaction, unit_nonce, unit_note, unit_at,
      unit_records, record_unit, record_id, record_type, record_owner, record_data, record_extra, record_salt,
      record_leaf_hash);
  END IF;
  IF base IS NOT NULL THEN
    PERFORM confirm_guards(unit_guard);
    INSERT INTO writes (event_id, first_index, record_count, stripped_fields, network_id, channel_name, key_id, request_id,
                        types)
      SELECT substr(u.note[1], 5)::uuid, base + u.behind - u.records, u.records, u.note[4]::integer, of_network,
             substr(of_channel, length(of_network) + 2), packed_id(u.event[1], 'key_'), packed_id(u.event[2], 'req_'),
             u.event[3]
        FROM (SELECT string_to_array(n.note, E'\t') AS note, string_to_array(n.event, E'\t') AS event, n.records,
                     sum(n.records) OVER (ORDER BY n.ordinal ROWS UNBOUNDED PRECEDING) AS behind
                FROM unnest(unit_note, unit_event, unit_records) WITH ORDINALITY n (note, event, records, ordinal)) u;
    RETURN QUERY SELECT 'all written'::text, base, NULL::json;
    RETURN;
  END IF;
  RETURN QUERY
    SELECT m.outcome, m.first_index, m.detail
      FROM append_many_v2(array_fill(of_channel, units), array_fill(of_network, units), unit_claim, unit_fingerprint,
             unit_transaction, unit_nonce, unit_note, unit_at, unit_records, record_unit, record_id, record_type, record_owner,
             record_data, record_extra, record_salt, record_leaf_hash, unit_event, unit_guard) m;
END $$;

-- Down Migration

DROP FUNCTION append_v3, append_many_v2, confirm_guards;
DROP VIEW callers;
