-- Up Migration

-- Functions for integrators, provers and auditors, by channel name, without access to tables.

CREATE FUNCTION open_channel_v1(of_network text, of_channel text) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = ledger, pg_temp AS $$
  INSERT INTO channels (channel, network) VALUES (of_channel, of_network) ON CONFLICT DO NOTHING
$$;

CREATE FUNCTION channels_v1() RETURNS TABLE (channel text, network text, size bigint, integrated bigint)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = ledger, pg_temp AS $$
  SELECT c.channel, c.network, c.size, coalesce(k.size, 0)
    FROM channels c LEFT JOIN checkpoints k USING (channel_id) ORDER BY c.channel
$$;

-- One integrator at a time per channel, for the length of its transaction (a session lock would not work with
-- PgBouncer). The edge is the partial tile of every level; leaves are the concatenated leaf hashes after the last
-- checkpoint.
CREATE FUNCTION integrate_begin_v1(of_channel text, at_most integer)
RETURNS TABLE (head bigint, checkpoint text, integrated bigint, levels smallint[], tiles bigint[], edge bytea[],
               first_leaf bigint, last_leaf bigint, leaf_count bigint, leaves bytea)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = ledger, pg_temp AS $$
DECLARE
  ours channels%ROWTYPE;
BEGIN
  SELECT * INTO ours FROM channels c WHERE c.channel = of_channel;
  IF NOT FOUND OR NOT pg_try_advisory_xact_lock(hashtextextended('ledger.integrator ' || of_channel, 0)) THEN
    RETURN;
  END IF;
  -- Read anew: another integrator may have moved on between the two statements.
  SELECT * INTO ours FROM channels c WHERE c.channel = of_channel;
  head := ours.size;
  SELECT k.note, k.size INTO checkpoint, integrated FROM checkpoints k WHERE k.channel_id = ours.channel_id;
  integrated := coalesce(integrated, 0);
  SELECT array_agg(t.level ORDER BY t.level), array_agg(t.tile ORDER BY t.level), array_agg(t.hashes ORDER BY t.level)
    INTO levels, tiles, edge
    FROM (SELECT l::smallint AS level, integrated >> (8 * (l + 1)) AS tile FROM generate_series(0, 6) l
           WHERE (integrated >> (8 * l)) & 255 > 0) w
    JOIN tiles t USING (level, tile) WHERE t.channel_id = ours.channel_id;
  SELECT min(r.idx), max(r.idx), count(*), string_agg(r.leaf_hash, ''::bytea ORDER BY r.idx)
    INTO first_leaf, last_leaf, leaf_count, leaves
    FROM records r
   WHERE r.channel_id = ours.channel_id AND r.idx >= integrated AND r.idx < integrated + at_most AND r.idx < head;
  RETURN NEXT;
END $$;

CREATE FUNCTION integrate_commit_v1(of_channel text, new_levels smallint[], new_tiles bigint[], new_hashes bytea[],
                                    new_size bigint, new_root bytea, new_note text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = ledger, pg_temp AS $$
DECLARE
  ours integer := (SELECT channel_id FROM channels WHERE channel = of_channel);
BEGIN
  INSERT INTO tiles (channel_id, level, tile, hashes)
    SELECT ours, n.level, n.tile, n.hashes FROM unnest(new_levels, new_tiles, new_hashes) n (level, tile, hashes)
    ON CONFLICT (channel_id, level, tile) DO UPDATE SET hashes = EXCLUDED.hashes;
  INSERT INTO checkpoints (channel_id, size, root, note) VALUES (ours, new_size, new_root, new_note)
    ON CONFLICT (channel_id) DO UPDATE SET size = EXCLUDED.size, root = EXCLUDED.root, note = EXCLUDED.note
    WHERE checkpoints.size <= EXCLUDED.size;
  PERFORM ensure_partitions_v1(new_size + 524288);
END $$;

CREATE FUNCTION checkpoint_v1(of_channel text) RETURNS text
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = ledger, pg_temp AS $$
  SELECT k.note FROM channels c JOIN checkpoints k USING (channel_id) WHERE c.channel = of_channel
$$;

CREATE FUNCTION tiles_v1(of_channel text, at_levels smallint[], at_tiles bigint[])
RETURNS TABLE (ordinal bigint, hashes bytea)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = ledger, pg_temp AS $$
  SELECT w.ordinal, t.hashes
    FROM unnest(at_levels, at_tiles) WITH ORDINALITY w (level, tile, ordinal)
    JOIN channels c ON c.channel = of_channel
    JOIN tiles t ON t.channel_id = c.channel_id AND t.level = w.level AND t.tile = w.tile
   ORDER BY w.ordinal
$$;

CREATE FUNCTION record_v1(of_channel text, of_id text)
RETURNS TABLE (network text, channel text, idx bigint, id text, type text, owner text, data text, extra text, salt bytea,
               data_hash bytea, leaf_hash bytea, transaction_id bytea, at_ms bigint)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = ledger, pg_temp AS $$
  SELECT c.network, c.channel, r.idx, r.id, r.type, r.owner, r.data, r.extra, r.salt, r.data_hash, r.leaf_hash,
         r.transaction_id, r.at_ms
    FROM channels c
    JOIN record_ids i ON i.channel_id = c.channel_id AND i.id = of_id
    JOIN records r ON r.channel_id = c.channel_id AND r.idx = i.idx
   WHERE c.channel = of_channel
$$;

-- Ids and transactions of records by index, for a view that only stores where a unit was written.
CREATE FUNCTION receipts_v1(of_channel text, at_indexes bigint[])
RETURNS TABLE (idx bigint, id text, transaction_id text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = ledger, pg_temp AS $$
  SELECT r.idx, r.id, encode(r.transaction_id, 'hex')
    FROM channels c JOIN records r ON r.channel_id = c.channel_id
   WHERE c.channel = of_channel AND r.idx = ANY (at_indexes)
$$;

-- Removes salt and content; everything hashed into the tree stays, so every proof stays valid.
CREATE FUNCTION erase_v1(of_channel text, of_id text, for_reason text, now_ms bigint) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = ledger, pg_temp AS $$
DECLARE
  place record;
BEGIN
  SELECT c.channel_id, i.idx INTO place
    FROM channels c JOIN record_ids i ON i.channel_id = c.channel_id AND i.id = of_id WHERE c.channel = of_channel;
  IF NOT FOUND THEN
    RETURN false;
  END IF;
  UPDATE records SET data = NULL, extra = NULL, salt = NULL
   WHERE channel_id = place.channel_id AND idx = place.idx AND salt IS NOT NULL;
  IF FOUND THEN
    INSERT INTO erasures (channel_id, idx, reason, at_ms, row_hash)
      VALUES (place.channel_id, place.idx, for_reason, now_ms,
              sha256(convert_to(concat_ws('|', place.channel_id, place.idx, now_ms, for_reason), 'UTF8')));
  END IF;
  RETURN true;
END $$;

-- Down Migration

DROP FUNCTION open_channel_v1, channels_v1, integrate_begin_v1, integrate_commit_v1, checkpoint_v1, tiles_v1, record_v1,
  receipts_v1, erase_v1;
