-- Up Migration

-- The common case: every claim and every id of a group is new. The head is moved and the rows are inserted without
-- prior lookups; duplicates raise unique violations, which roll everything back.
--
-- Units of one channel; the parameters are those of append_v1. Returns the index of the first record; the others follow
-- without gaps in the order of the units. Null: nothing was written, and append_v1 determines the outcome of each unit.
-- It is null, too, if append_v1 has to open the head first.
CREATE FUNCTION append_new_v1(
  of_channel text, unit_claim bytea[], unit_fingerprint text[], unit_transaction bytea[], unit_nonce bytea[],
  unit_note text[], unit_at bigint[], unit_records integer[],
  record_unit integer[], record_id text[], record_type text[], record_owner text[], record_data text[],
  record_extra text[], record_salt bytea[], record_data_hash bytea[], record_leaf_hash bytea[])
RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = ledger, pg_temp
  SET jit = off SET enable_seqscan = off SET plan_cache_mode = force_generic_plan AS $$
DECLARE
  total CONSTANT bigint := cardinality(record_id);
  ours  integer;
  base  bigint;
BEGIN
  -- Else a head would move by another number than that of the records.
  IF (SELECT sum(n) = total AND min(n) >= 0 FROM unnest(unit_records) n) IS NOT TRUE THEN
    RAISE EXCEPTION 'the units do not have as many records as were sent' USING ERRCODE = 'invalid_parameter_value';
  END IF;
  -- As in append_v1, the head tells who may append, and a halt or a change of grants waits for it or is seen.
  UPDATE channels c SET size = c.size + total WHERE c.channel = of_channel AND session_user = ANY (c.appenders)
    RETURNING c.channel_id, c.size - total INTO ours, base;
  IF NOT FOUND THEN
    PERFORM permitted(of_channel, 'append');
    RETURN NULL;
  END IF;
  IF (base + total) >> 20 > 0 THEN
    PERFORM ensure_next_partition(base + total);
  END IF;
  -- The claims in one order for everybody, as in append_v1: they are unique over all channels.
  INSERT INTO claims (claim, fingerprint, transaction_id, nonce, channel_id, first_index, record_count, note)
    SELECT u.claim, split_part(u.fingerprint, ' ', 1), u.transaction_id, u.nonce, ours, base + u.behind - u.records,
           u.records, u.note
      FROM (SELECT n.*, sum(n.records) OVER (ORDER BY n.ordinal ROWS UNBOUNDED PRECEDING) AS behind
              FROM unnest(unit_claim, unit_fingerprint, unit_transaction, unit_nonce, unit_note, unit_records)
                   WITH ORDINALITY n (claim, fingerprint, transaction_id, nonce, note, records, ordinal)) u
     WHERE u.claim IS NOT NULL ORDER BY u.claim;
  INSERT INTO record_ids (channel_id, id, idx)
    SELECT ours, r.id, base + r.ordinal - 1 FROM unnest(record_id) WITH ORDINALITY r (id, ordinal);
  INSERT INTO records (channel_id, idx, id, type, owner, data, extra, salt, data_hash, leaf_hash, transaction_id, at_ms)
    SELECT ours, base + r.ordinal - 1, r.id, r.type, r.owner, r.data, r.extra, r.salt, r.data_hash, r.leaf_hash,
           unit_transaction[r.unit], unit_at[r.unit]
      FROM unnest(record_unit, record_id, record_type, record_owner, record_data, record_extra, record_salt,
                  record_data_hash, record_leaf_hash)
           WITH ORDINALITY r (unit, id, type, owner, data, extra, salt, data_hash, leaf_hash, ordinal);
  RETURN base;
EXCEPTION WHEN unique_violation THEN
  RETURN NULL;
END $$;

-- append_v1 for units of one channel. Out: one row `all written` with the index of the first record, if append_new_v1
-- wrote them; else the rows of append_v1, in the order of the units. carefully: duplicates are expected, so
-- append_new_v1 is skipped.
CREATE FUNCTION append_v2(
  of_channel text, of_network text, carefully boolean,
  unit_claim bytea[], unit_fingerprint text[], unit_transaction bytea[], unit_nonce bytea[], unit_note text[],
  unit_at bigint[], unit_records integer[],
  record_unit integer[], record_id text[], record_type text[], record_owner text[], record_data text[],
  record_extra text[], record_salt bytea[], record_data_hash bytea[], record_leaf_hash bytea[])
RETURNS TABLE (outcome text, first_index bigint, detail json)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = ledger, pg_temp SET jit = off
  SET plan_cache_mode = force_generic_plan AS $$
DECLARE
  units CONSTANT integer[] := ARRAY[cardinality(unit_records)];
BEGIN
  IF NOT carefully THEN
    first_index := append_new_v1(of_channel, unit_claim, unit_fingerprint, unit_transaction, unit_nonce, unit_note, unit_at,
      unit_records, record_unit, record_id, record_type, record_owner, record_data, record_extra, record_salt,
      record_data_hash, record_leaf_hash);
    IF first_index IS NOT NULL THEN
      outcome := 'all written';
      RETURN NEXT;
      RETURN;
    END IF;
  END IF;
  RETURN QUERY
    SELECT a.outcome, a.first_index, a.detail
      FROM append_v1(array_fill(of_channel, units), array_fill(of_network, units), unit_claim, unit_fingerprint,
             unit_transaction, unit_nonce, unit_note, unit_at, unit_records, record_unit, record_id, record_type,
             record_owner, record_data, record_extra, record_salt, record_data_hash, record_leaf_hash) a
     ORDER BY a.unit;
END $$;

-- Down Migration

DROP FUNCTION append_v2, append_new_v1;
