-- Up Migration

-- Erased records in the table in a range of indexes, with their leaf hashes. A file of an archive may hold copies of
-- them, if an attempt ended between writing the file and removing the rows.
CREATE FUNCTION erased_rows_v1(of_channel text, from_index bigint, until_index bigint) RETURNS TABLE (idx bigint, leaf_hash bytea)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = ledger, pg_temp SET enable_seqscan = off SET jit = off AS $$
  SELECT r.idx, r.leaf_hash
    FROM channels c
    JOIN erasures e ON e.channel_id = c.channel_id AND e.idx >= from_index AND e.idx < erased_rows_v1.until_index
    JOIN records r ON r.channel_id = c.channel_id AND r.idx = e.idx
   WHERE c.channel = of_channel AND permitted(of_channel, 'erase') AND r.salt IS NULL ORDER BY r.idx
$$;

-- Down Migration

DROP FUNCTION erased_rows_v1;
