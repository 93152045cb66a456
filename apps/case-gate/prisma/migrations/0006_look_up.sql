-- Up Migration

-- The gate's look-up for all checks of a batch; see data/lookup-batch.ts. A function, so that each connection plans it
-- once: otherwise the planner prefers a custom plan for each small batch, and planning costs several times the
-- execution. Plans made while the tables were empty must not scan them sequentially later. STABLE: everything in it,
-- including functions of the ledger, uses the snapshot of the calling statement.
--
-- One row for each question whose key is live. Columns of the key are null where are_first is false, those of the venue
-- where venue_ids is null: most questions of a batch share few venues, and an earlier row has the columns. The guess_
-- arrays name expected versions of subjects, and possible ledger ids of these.
CREATE FUNCTION look_up_v1(
  key_hashes bytea[], are_first boolean[], subject_refs text[], venue_ids text[], at_time timestamptz,
  of_channel text, later_ids text[], guess_environments text[], guess_subjects text[], guess_versions bigint[],
  guess_ids text[])
RETURNS TABLE (
  ord integer, is_standby boolean, held text[], conflict text,
  key_hash bytea, id text, owner_id text, family_id text, label text, key_prefix text, grants text, created_at timestamptz,
  expires_at timestamptz, overlap_until timestamptz, replaces text,
  record_version integer, status text, document text, changed_at timestamptz, mac text, newest_version integer,
  venue_name text, venue_active boolean, venue_version integer, venue_created_at timestamptz, venue_updated_at timestamptz,
  venue_mac text)
LANGUAGE plpgsql STABLE SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET jit = off AS $$
#variable_conflict use_column
DECLARE
  standby   boolean := pg_is_in_recovery();
  is_held   text[]  := ledger.held_v2(of_channel, later_ids);
  conflicts text;
BEGIN
  IF cardinality(guess_ids) > 0 THEN
    SELECT ledger.conflict_v1(of_channel, NULL, array_agg(g.id), array_agg('eligibility.record'::text),
                              array_agg(NULL::text), array_agg(e.document), array_agg(NULL::text))
      INTO conflicts
      FROM unnest(guess_environments, guess_subjects, guess_versions, guess_ids) g (environment, subject_ref, version, id)
      JOIN gate.eligibility e ON e.environment = g.environment AND e.subject_ref = g.subject_ref
                             AND e.record_version = g.version;
  END IF;
  RETURN QUERY
    SELECT q.ord::integer, standby, is_held, conflicts,
           CASE WHEN q.is_first THEN k.key_hash END, CASE WHEN q.is_first THEN k.id END,
           CASE WHEN q.is_first THEN k.owner_id END, CASE WHEN q.is_first THEN k.family_id END,
           CASE WHEN q.is_first THEN k.label END, CASE WHEN q.is_first THEN k.key_prefix END,
           CASE WHEN q.is_first THEN k.grants::text END, CASE WHEN q.is_first THEN k.created_at END,
           CASE WHEN q.is_first THEN k.expires_at END, CASE WHEN q.is_first THEN k.overlap_until END,
           CASE WHEN q.is_first THEN k.replaces END,
           e.record_version, e.status, e.document, e.changed_at, e.mac,
           (SELECT max(h.record_version) FROM gate.eligibility_history h
             WHERE h.environment = k.owner_id AND h.subject_ref = q.subject_ref),
           v.name, v.active, v.record_version, v.created_at, v.updated_at, v.mac
      FROM unnest(key_hashes, are_first, subject_refs, venue_ids) WITH ORDINALITY
           q (key_hash, is_first, subject_ref, venue_id, ord)
      -- liveKeyCondition of @sealgate/api-keys.
      JOIN gate.api_keys k ON k.key_hash = q.key_hash AND (k.revoked_at IS NULL AND
           (k.expires_at IS NULL OR k.expires_at > at_time::timestamptz) AND
           (k.overlap_until IS NULL OR k.overlap_until > at_time::timestamptz))
      LEFT JOIN gate.eligibility e ON e.environment = k.owner_id AND e.subject_ref = q.subject_ref
      LEFT JOIN gate.venues v ON v.environment = k.owner_id AND v.venue_id = q.venue_id;
END $$;

-- Down Migration

DROP FUNCTION look_up_v1;
