-- Up Migration

-- Looks each tile up by its primary key, regardless of table statistics: without statistics every proof used to read
-- all tiles of the ledger.
CREATE OR REPLACE FUNCTION tiles_v1(of_channel text, at_levels smallint[], at_tiles bigint[])
RETURNS TABLE (ordinal bigint, hashes bytea)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = ledger, pg_temp SET jit = off SET plan_cache_mode = force_generic_plan AS $$
  SELECT w.ordinal, t.hashes
    FROM logs l
    CROSS JOIN unnest(at_levels, at_tiles) WITH ORDINALITY w (level, tile, ordinal)
    CROSS JOIN LATERAL (
      SELECT t.hashes FROM tiles t WHERE t.channel_id = l.tree_id AND t.level = w.level AND t.tile = w.tile LIMIT 1) t
   WHERE l.log = of_channel
   ORDER BY w.ordinal
$$;

-- Down Migration

CREATE OR REPLACE FUNCTION tiles_v1(of_channel text, at_levels smallint[], at_tiles bigint[])
RETURNS TABLE (ordinal bigint, hashes bytea)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = ledger, pg_temp SET jit = off AS $$
  SELECT w.ordinal, t.hashes
    FROM unnest(at_levels, at_tiles) WITH ORDINALITY w (level, tile, ordinal)
    JOIN logs l ON l.log = of_channel
    JOIN tiles t ON t.channel_id = l.tree_id AND t.level = w.level AND t.tile = w.tile
   ORDER BY w.ordinal
$$;
