-- Up Migration

-- An audit trusts nothing it can compute: these functions hand over rows, and the reader does the hashing.

-- Rows of a stretch of the log, 32 to a value, so that the reader pays by the byte and not by the row. A row is the
-- binary form of the composite (integer field count, then type, length and bytes of each field).
CREATE FUNCTION audit_records_v1(of_channel text, from_index bigint, at_most integer)
RETURNS TABLE (rows bytea)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = ledger, pg_temp AS $$
  SELECT string_agg(record_send(ROW(r.idx, r.at_ms,
           CASE WHEN r.salt IS NULL THEN EXISTS (SELECT 1 FROM erasures e WHERE e.channel_id = r.channel_id AND e.idx = r.idx)
                ELSE false END,
           r.salt, r.data_hash, r.leaf_hash, r.transaction_id, r.id, r.type, r.owner, r.data, r.extra)),
           ''::bytea ORDER BY r.idx)
    FROM channels c
    JOIN records r ON r.channel_id = c.channel_id AND r.idx >= from_index AND r.idx < from_index + at_most
   WHERE c.channel = of_channel
   GROUP BY r.idx >> 5
   ORDER BY r.idx >> 5
$$;

-- The first record whose id is not entered for its index. Sums of hashes under a seed that the auditor draws are
-- compared first: the two tables are then read once each, and only a difference is looked for row by row.
CREATE FUNCTION audit_ids_v1(of_channel text, seed bigint) RETURNS TABLE (idx bigint, id text)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = ledger, pg_temp AS $$
#variable_conflict use_column
DECLARE
  ours integer := (SELECT channel_id FROM channels WHERE channel = of_channel);
BEGIN
  IF (SELECT sum(hashtextextended(r.id, seed # r.idx)) FROM records r WHERE r.channel_id = ours)
     IS DISTINCT FROM
     (SELECT sum(hashtextextended(i.id, seed # i.idx)) FROM record_ids i WHERE i.channel_id = ours) THEN
    RETURN QUERY SELECT r.idx, r.id FROM records r
      WHERE r.channel_id = ours AND NOT EXISTS (
        SELECT 1 FROM record_ids i WHERE i.channel_id = ours AND i.id = r.id AND i.idx = r.idx)
      ORDER BY r.idx LIMIT 1;
  END IF;
END $$;

-- The claims of a channel in order of claim, with the ids of the records they point at.
CREATE FUNCTION audit_claims_v1(of_channel text, after_claim bytea, at_most integer)
RETURNS TABLE (claim bytea, fingerprint text, transaction_id bytea, nonce bytea, note text, record_count integer,
               ids json)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = ledger, pg_temp AS $$
  SELECT k.claim, k.fingerprint, k.transaction_id, k.nonce, k.note, k.record_count,
         (SELECT json_agg(r.id ORDER BY w.ordinal)
            FROM unnest(coalesce(k.indexes, ARRAY(SELECT generate_series(k.first_index,
                                                    k.first_index + k.record_count - 1))))
                 WITH ORDINALITY w (idx, ordinal)
                 CROSS JOIN LATERAL (SELECT o.id FROM records o
                                      WHERE o.channel_id = k.channel_id AND o.idx = w.idx OFFSET 0) r)
    FROM (SELECT l.* FROM claims l JOIN channels c USING (channel_id)
           WHERE c.channel = of_channel AND l.claim > after_claim ORDER BY l.claim LIMIT at_most) k
   ORDER BY k.claim
$$;

-- What can be counted: rows beyond the head, ids without a record, rows of no channel, erasures that were edited.
CREATE FUNCTION audit_counts_v1(of_channel text)
RETURNS TABLE (size bigint, network text, checkpoint_size bigint, checkpoint_root bytea, checkpoint text,
               beyond_head bigint, id_count bigint, stray_rows bigint, edited_erasure bigint, tile_count bigint)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = ledger, pg_temp AS $$
  SELECT c.size, c.network, k.size, k.root, k.note,
         (SELECT min(r.idx) FROM records r WHERE r.channel_id = c.channel_id AND r.idx >= c.size),
         (SELECT count(*) FROM record_ids i WHERE i.channel_id = c.channel_id),
         (SELECT count(*) FROM (
            SELECT channel_id FROM claims UNION ALL SELECT channel_id FROM tiles UNION ALL
            SELECT channel_id FROM checkpoints UNION ALL SELECT channel_id FROM erasures) s
           WHERE NOT EXISTS (SELECT 1 FROM channels o WHERE o.channel_id = s.channel_id)),
         (SELECT min(e.idx) FROM erasures e
           WHERE e.channel_id = c.channel_id
             AND (e.row_hash <> sha256(convert_to(concat_ws('|', e.channel_id, e.idx, e.at_ms, e.reason), 'UTF8'))
                  OR NOT EXISTS (SELECT 1 FROM records r
                                  WHERE r.channel_id = e.channel_id AND r.idx = e.idx AND r.salt IS NULL))),
         (SELECT count(*) FROM tiles t WHERE t.channel_id = c.channel_id)
    FROM channels c LEFT JOIN checkpoints k USING (channel_id) WHERE c.channel = of_channel
$$;

-- The id that was entered for an index: names a record whose row is gone.
CREATE FUNCTION audit_id_at_v1(of_channel text, at_index bigint) RETURNS text
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = ledger, pg_temp AS $$
  SELECT i.id FROM channels c JOIN record_ids i USING (channel_id) WHERE c.channel = of_channel AND i.idx = at_index LIMIT 1
$$;

-- Down Migration

DROP FUNCTION audit_id_at_v1, audit_ids_v1, audit_records_v1, audit_claims_v1, audit_counts_v1;
