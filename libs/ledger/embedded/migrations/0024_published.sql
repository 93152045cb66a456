-- Up Migration

-- The checkpoint that each log is shown by where witnesses cosign: channel_id is that of its tree, as in checkpoints. The row
-- of no tree (0) says that there are witnesses: a log without a row then shows no checkpoint yet. Without that row checkpoints
-- are shown as they are signed.
CREATE TABLE published (
  channel_id integer PRIMARY KEY,
  size       bigint  NOT NULL,
  note       text    NOT NULL,  -- with the cosignatures
  is_short   boolean NOT NULL   -- fewer than the policy asks for
);

-- From now on only what is published is shown. It begins with what was shown until now, so nobody sees a log shrink: while the
-- lock is held nothing newer is signed.
CREATE FUNCTION publish_cosigned_v1() RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = ledger, pg_temp SET jit = off AS $$
BEGIN
  PERFORM permitted_somewhere('integrate');
  LOCK TABLE published IN SHARE ROW EXCLUSIVE MODE;
  IF EXISTS (SELECT 1 FROM published WHERE channel_id = 0) THEN
    RETURN;
  END IF;
  LOCK TABLE checkpoints IN SHARE MODE;
  DELETE FROM published;
  INSERT INTO published (channel_id, size, note, is_short) SELECT k.channel_id, k.size, k.note, true FROM checkpoints k;
  INSERT INTO published (channel_id, size, note, is_short) VALUES (0, 0, '', false);
END $$;

-- Checkpoints are shown as they are signed.
CREATE FUNCTION publish_signed_v1() RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = ledger, pg_temp SET jit = off AS $$
BEGIN
  PERFORM permitted_somewhere('integrate');
  IF EXISTS (SELECT 1 FROM published) THEN
    DELETE FROM published;
  END IF;
END $$;

-- Shows a log by this checkpoint, unless a newer one is shown. One that the tables hold no tree for is not.
CREATE FUNCTION publish_v1(of_log text, new_size bigint, new_note text, now_short boolean) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = ledger, pg_temp SET jit = off AS $$
BEGIN
  PERFORM permitted(split_part(of_log, '/', 1), 'integrate');
  INSERT INTO published (channel_id, size, note, is_short)
    SELECT l.tree_id, new_size, new_note, now_short
      FROM logs l JOIN checkpoints k ON k.channel_id = l.tree_id AND k.size >= new_size
     WHERE l.log = of_log AND NOT l.is_ended
    ON CONFLICT (channel_id) DO UPDATE SET size = EXCLUDED.size, note = EXCLUDED.note, is_short = EXCLUDED.is_short
    WHERE published.size <= EXCLUDED.size;
END $$;

-- Logs whose newest checkpoint is not shown, or by fewer cosignatures than it should be.
CREATE FUNCTION unpublished_v1(at_most integer) RETURNS TABLE (log text, note text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = ledger, pg_temp SET jit = off AS $$
  SELECT l.log, k.note
    FROM logs l JOIN checkpoints k ON k.channel_id = l.tree_id LEFT JOIN published p ON p.channel_id = l.tree_id
   WHERE NOT l.is_ended AND has_right(l.channel, 'integrate') AND (p.size IS NULL OR p.size < k.size OR p.is_short)
   ORDER BY random() LIMIT at_most
$$;

-- What a log is shown by, where the tree reaches as far; undefined where there are witnesses and nothing is published.
CREATE FUNCTION published_v1(of_log text) RETURNS text
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = ledger, pg_temp SET jit = off AS $$
  SELECT CASE WHEN EXISTS (SELECT 1 FROM published w WHERE w.channel_id = 0)
              THEN (SELECT p.note FROM published p WHERE p.channel_id = l.tree_id AND p.size <= k.size)
              ELSE k.note END
    FROM logs l JOIN checkpoints k ON k.channel_id = l.tree_id WHERE l.log = of_log
$$;

-- Down Migration

DROP FUNCTION publish_cosigned_v1, publish_signed_v1, publish_v1, unpublished_v1, published_v1;
DROP TABLE published;
