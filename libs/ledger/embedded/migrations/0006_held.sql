-- Up Migration

-- Which of these ids the channel holds, whatever stands under them and also once it was erased; null for none. It reads
-- through the snapshot of the statement that calls it, so a caller can tell in one statement that a row of its own and
-- the ledger belong together. The planner settings are those of append_v1, for the same reason.
CREATE FUNCTION held_v1(of_channel text, ids text[]) RETURNS text[]
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = ledger, pg_temp
  SET enable_seqscan = off SET plan_cache_mode = force_generic_plan AS $$
BEGIN
  RETURN (SELECT array_agg(i.id) FROM channels c JOIN record_ids i ON i.channel_id = c.channel_id
           WHERE c.channel = of_channel AND i.id = ANY (ids));
END $$;

-- Down Migration

DROP FUNCTION held_v1;
