-- Up Migration

-- An audit recomputes every hash from the columns it covers. Hashing in the database avoids transferring a million
-- contents and blocking the service's event loop. to_json escapes strings exactly as RFC 8785 requires: short forms for
-- the usual five, quote and backslash; \u00xx for other controls; all else unescaped.

CREATE FUNCTION content_hash(salt bytea, data text, extra text) RETURNS bytea LANGUAGE sql STABLE
RETURN sha256(salt || convert_to('{"data":' || data || ',"extra":' || coalesce(extra, 'null') || '}', 'UTF8'));

-- A time as ECMAScript formats it, in quotes. to_json is several times as fast as to_char but drops trailing zeros of a
-- fraction: hence the microsecond, which is cut off again.
CREATE FUNCTION iso_millisecond(at_ms bigint) RETURNS text LANGUAGE sql STABLE
RETURN left(to_json(timestamp 'epoch' + (at_ms * interval '1 millisecond' + interval '1 microsecond'))::text, 24) || 'Z"';

-- RFC 6962, section 2.1, over the leaf in JCS order. channel and network are passed as JSON: they are the same for
-- every row.
CREATE FUNCTION leaf_hash(at_ms bigint, channel text, data_hash bytea, id text, network text, owner text,
                          transaction_id bytea, type text) RETURNS bytea LANGUAGE sql STABLE
RETURN sha256('\x00'::bytea || convert_to(
  '{"at":' || iso_millisecond(at_ms) || ',"channel":' || channel || ',"dataHash":"' || encode(data_hash, 'hex')
  || '","id":' || to_json(id)::text || ',"network":' || network || ',"owner":' || coalesce(to_json(owner)::text, 'null')
  || ',"transactionId":"' || encode(transaction_id, 'hex') || '","type":' || to_json(type)::text || ',"v":1}', 'UTF8'));

-- See append-statement.ts.
CREATE FUNCTION transaction_hash(nonce bytea, claim bytea, fingerprint text, channel text, note text, ids text[])
RETURNS bytea LANGUAGE sql STABLE
RETURN sha256(convert_to(format('["sealgate.transaction.v1","%s","%s",%s,%s,%s,%s]', encode(nonce, 'hex'),
  encode(claim, 'hex'), to_json(fingerprint), to_json(channel), to_json(note), array_to_json(ids)), 'UTF8'));

-- A channel in the form required by the functions above.
CREATE VIEW audited_channels AS
  SELECT c.channel_id, c.channel, to_json(c.channel)::text AS channel_json, to_json(c.network)::text AS network_json
    FROM channels c OFFSET 0;

-- A stretch of the log: the number of rows, the first row that does not match its leaf, and the leaf hashes of all in
-- order, from which the auditor builds the tree.
CREATE FUNCTION audit_records_v1(of_channel text, from_index bigint, until_index bigint)
RETURNS TABLE (row_count bigint, first_bad bigint, leaf_hashes bytea)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = ledger, pg_temp SET enable_seqscan = off AS $$
  SELECT count(*), min(s.idx) FILTER (WHERE s.is_bad), string_agg(s.leaf_hash, ''::bytea)
    FROM (SELECT r.idx, r.leaf_hash,
                 (CASE WHEN r.salt IS NULL OR r.data IS NULL
                    THEN num_nonnulls(r.salt, r.data, r.extra) > 0
                         OR NOT EXISTS (SELECT 1 FROM erasures e WHERE e.channel_id = r.channel_id AND e.idx = r.idx)
                    ELSE content_hash(r.salt, r.data, r.extra) <> r.data_hash END)
                 OR leaf_hash(r.at_ms, c.channel_json, r.data_hash, r.id, c.network_json, r.owner, r.transaction_id, r.type)
                    <> r.leaf_hash AS is_bad
            FROM audited_channels c
            JOIN records r ON r.channel_id = c.channel_id AND r.idx >= from_index AND r.idx < until_index
           WHERE c.channel = of_channel ORDER BY r.channel_id, r.idx) s
$$;

-- The record at an index and the problem of its row: null if the row matches its leaf.
CREATE FUNCTION audit_record_v1(of_channel text, at_index bigint) RETURNS TABLE (id text, problem text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = ledger, pg_temp AS $$
  SELECT r.id,
         CASE WHEN (r.salt IS NULL OR r.data IS NULL) AND NOT EXISTS (
                     SELECT 1 FROM erasures e WHERE e.channel_id = r.channel_id AND e.idx = r.idx)
                THEN 'its content is missing, and no erasure says so'
              WHEN (r.salt IS NULL OR r.data IS NULL) AND num_nonnulls(r.salt, r.data, r.extra) > 0
                THEN 'content and erasure do not agree'
              WHEN content_hash(r.salt, r.data, r.extra) <> r.data_hash THEN 'its content is not what was hashed'
              WHEN leaf_hash(r.at_ms, c.channel_json, r.data_hash, r.id, c.network_json, r.owner, r.transaction_id, r.type)
                   <> r.leaf_hash THEN 'it is not what its leaf was made of' END
    FROM audited_channels c JOIN records r ON r.channel_id = c.channel_id AND r.idx = at_index WHERE c.channel = of_channel
$$;

-- The first index of a stretch that has no row.
CREATE FUNCTION audit_missing_v1(of_channel text, from_index bigint, until_index bigint) RETURNS bigint
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = ledger, pg_temp AS $$
  SELECT min(g.idx) FROM generate_series(from_index, until_index - 1) g (idx)
   WHERE NOT EXISTS (SELECT 1 FROM channels c JOIN records r ON r.channel_id = c.channel_id AND r.idx = g.idx
                      WHERE c.channel = of_channel)
$$;

-- The first record whose id is not entered for its index. Sums of hashes under a seed drawn by the auditor are compared
-- first: both tables are then read once each, and compared row by row only if the sums differ.
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

-- Claims of a channel in order of claim, by page: the last claim, their number, and the first claim that does not match
-- its transaction id, with the first of its records.
CREATE FUNCTION audit_claims_v1(of_channel text, after_claim bytea, at_most integer)
RETURNS TABLE (claim_count bigint, last_claim bytea, bad_claim bytea, bad_id text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = ledger, pg_temp SET enable_seqscan = off AS $$
  WITH page AS (
    SELECT k.claim, w.ids[1] AS first_id,
           cardinality(w.ids) IS DISTINCT FROM k.record_count
           OR transaction_hash(k.nonce, k.claim, k.fingerprint, of_channel, k.note, w.ids) <> k.transaction_id AS is_bad
      FROM (SELECT l.* FROM claims l JOIN channels c USING (channel_id)
             WHERE c.channel = of_channel AND l.claim > after_claim ORDER BY l.claim LIMIT at_most) k
           CROSS JOIN LATERAL (
             SELECT CASE WHEN k.indexes IS NULL THEN ARRAY(
                 SELECT r.id FROM records r
                  WHERE r.channel_id = k.channel_id AND r.idx >= k.first_index AND r.idx < k.first_index + k.record_count
                  ORDER BY r.channel_id, r.idx)
               ELSE ARRAY(
                 SELECT r.id FROM unnest(k.indexes) WITH ORDINALITY i (idx, ordinal)
                        JOIN records r ON r.channel_id = k.channel_id AND r.idx = i.idx
                  ORDER BY i.ordinal) END AS ids
             OFFSET 0) w)
  SELECT count(*), (array_agg(claim ORDER BY claim DESC))[1], (array_agg(claim ORDER BY claim) FILTER (WHERE is_bad))[1],
         (array_agg(first_id ORDER BY claim) FILTER (WHERE is_bad))[1]
    FROM page
$$;

-- Counts: rows beyond the head, ids without a record, rows of no channel, edited erasures.
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

-- The id that was entered for an index: identifies a record whose row is gone.
CREATE FUNCTION audit_id_at_v1(of_channel text, at_index bigint) RETURNS text
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = ledger, pg_temp AS $$
  SELECT i.id FROM channels c JOIN record_ids i USING (channel_id) WHERE c.channel = of_channel AND i.idx = at_index LIMIT 1
$$;

-- Down Migration

DROP FUNCTION audit_id_at_v1, audit_ids_v1, audit_records_v1, audit_record_v1, audit_missing_v1, audit_claims_v1, audit_counts_v1,
  content_hash, leaf_hash, iso_millisecond, transaction_hash;
DROP VIEW audited_channels;
