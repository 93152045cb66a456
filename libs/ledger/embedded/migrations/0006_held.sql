-- Up Migration

-- The ids that the channel holds, regardless of their content, erased ones too; null if there is none. It uses the
-- snapshot of the calling statement, so a caller can compare its own rows with the ledger in one statement. The planner
-- settings are those of append_v1, for the same reason.
CREATE FUNCTION held_v1(of_channel text, ids text[]) RETURNS text[]
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = ledger, pg_temp
  SET enable_seqscan = off SET plan_cache_mode = force_generic_plan AS $$
BEGIN
  RETURN (SELECT array_agg(i.id) FROM channels c JOIN record_ids i ON i.channel_id = c.channel_id
           WHERE c.channel = of_channel AND i.id = ANY (ids));
END $$;

-- Down Migration

DROP FUNCTION held_v1;
