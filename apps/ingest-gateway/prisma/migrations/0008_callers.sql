-- Up Migration

-- The keys of networks that are there, with all that a request by one depends on and nothing that moves by use. Their hash is
-- the version of a caller. Whether a key has expired is for the reader to say, whose clock decides.
CREATE VIEW callers AS
  SELECT k.id, k.key_hash, k.family_id, k.owner_id, k.grants, k.revoked_at, k.expires_at, k.overlap_until, n.channels,
         n.rate_per_second, n.burst
    FROM api_keys k JOIN networks n ON n.network_id = k.owner_id AND n.deleted_at IS NULL;

-- What lets a unit be written now, in which version. Each kind is a branch, found by kind and id.
CREATE VIEW guards (kind, id, version) AS
  SELECT 'key', c.id, hash_record_extended(c, 0)::text FROM callers c WHERE c.revoked_at IS NULL
  UNION ALL
  SELECT 'source', s.source_id, hash_record_extended(s, 0)::text FROM live_sources s;

-- Refuses the call where one of the guards (`kind id version`, or null) is not so any more. The detail names those that are not,
-- one a line.
CREATE FUNCTION confirm_guards(unit_guard text[]) RETURNS void
LANGUAGE plpgsql SET search_path = ingest, pg_temp SET jit = off
  SET enable_seqscan = off SET plan_cache_mode = force_generic_plan AS $$
DECLARE
  stale text;
BEGIN
  SELECT string_agg(g.guard, E'\n') INTO stale
    FROM (SELECT DISTINCT u.guard FROM unnest(unit_guard) u (guard) WHERE u.guard IS NOT NULL) g
   WHERE (SELECT v.version FROM guards v WHERE v.kind = split_part(g.guard, ' ', 1) AND v.id = split_part(g.guard, ' ', 2))
         IS DISTINCT FROM split_part(g.guard, ' ', 3);
  IF stale IS NOT NULL THEN
    RAISE EXCEPTION 'guards of the call are stale' USING ERRCODE = 'SG001', DETAIL = stale;
  END IF;
END $$;

-- append_v2, which confirms the guards of the units that it writes: a statement of its own behind the lock of the head, so what
-- was committed before the call was sent, or while it waited, is seen. What a replay or a reuse is answered is for the caller
-- to guard.
CREATE FUNCTION append_v3(
  of_channel text, of_network text, carefully boolean,
  unit_claim bytea[], unit_fingerprint text[], unit_transaction bytea[], unit_nonce bytea[], unit_note text[],
  unit_at bigint[], unit_records integer[],
  record_unit integer[], record_id text[], record_type text[], record_owner text[], record_data text[],
  record_extra text[], record_salt bytea[], record_data_hash bytea[], record_leaf_hash bytea[], unit_event text[],
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
      FROM append_v2(of_channel, of_network, carefully, unit_claim, unit_fingerprint, unit_transaction, unit_nonce, unit_note,
             unit_at, unit_records, record_unit, record_id, record_type, record_owner, record_data, record_extra, record_salt,
             record_data_hash, record_leaf_hash, unit_event) a
  LOOP
    at := at + 1;
    IF outcome = 'all written' THEN
      guarded := unit_guard;
    ELSIF outcome NOT IN ('replayed', 'reused') THEN
      guarded := guarded || unit_guard[at];
    END IF;
    RETURN NEXT;
  END LOOP;
  PERFORM confirm_guards(guarded);
END $$;

-- append_many_v1, likewise.
CREATE FUNCTION append_many_v2(
  unit_channel text[], unit_network text[], unit_claim bytea[], unit_fingerprint text[], unit_transaction bytea[],
  unit_nonce bytea[], unit_note text[], unit_at bigint[], unit_records integer[],
  record_unit integer[], record_id text[], record_type text[], record_owner text[], record_data text[],
  record_extra text[], record_salt bytea[], record_data_hash bytea[], record_leaf_hash bytea[], unit_event text[],
  unit_guard text[])
RETURNS TABLE (outcome text, first_index bigint, detail json)
LANGUAGE plpgsql SET search_path = ingest, pg_temp SET jit = off
  SET enable_seqscan = off SET plan_cache_mode = force_generic_plan AS $$
DECLARE
  at      integer := 0;
  guarded text[];
BEGIN
  FOR outcome, first_index, detail IN
    SELECT a.outcome, a.first_index, a.detail
      FROM append_many_v1(unit_channel, unit_network, unit_claim, unit_fingerprint, unit_transaction, unit_nonce, unit_note,
             unit_at, unit_records, record_unit, record_id, record_type, record_owner, record_data, record_extra, record_salt,
             record_data_hash, record_leaf_hash, unit_event) a
  LOOP
    at := at + 1;
    IF outcome NOT IN ('replayed', 'reused') THEN
      guarded := guarded || unit_guard[at];
    END IF;
    RETURN NEXT;
  END LOOP;
  PERFORM confirm_guards(guarded);
END $$;

-- Down Migration

DROP FUNCTION append_many_v2, append_v3, confirm_guards;
DROP VIEW guards, callers;
