-- Up Migration

-- The published checkpoint of each log, if witnesses cosign: channel_id is that of its tree, as in checkpoints. A row
-- of no tree (0) marks that there are witnesses: a log without a row then shows no checkpoint yet. Without that row the
-- signed checkpoints are shown.
CREATE TABLE published (
  channel_id integer PRIMARY KEY,
  size       bigint  NOT NULL,
  note       text    NOT NULL,  -- with the cosignatures
  is_short   boolean NOT NULL   -- fewer than the policy asks for
);

-- From now on only published checkpoints are shown. It starts with those shown so far, so no log appears to shrink:
-- nothing newer is signed while the lock is held.
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

-- Shows checkpoints as they are signed.
CREATE FUNCTION publish_signed_v1() RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = ledger, pg_temp SET jit = off AS $$
BEGIN
  PERFORM permitted_somewhere('integrate');
  IF EXISTS (SELECT 1 FROM published) THEN
    DELETE FROM published;
  END IF;
END $$;

-- Publishes this checkpoint of a log, unless a newer one is published or the tables have no tree for it.
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

-- Logs whose newest checkpoint is not published, or short of cosignatures.
CREATE FUNCTION unpublished_v1(at_most integer) RETURNS TABLE (log text, note text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = ledger, pg_temp SET jit = off AS $$
  SELECT l.log, k.note
    FROM logs l JOIN checkpoints k ON k.channel_id = l.tree_id LEFT JOIN published p ON p.channel_id = l.tree_id
   WHERE NOT l.is_ended AND has_right(l.channel, 'integrate') AND (p.size IS NULL OR p.size < k.size OR p.is_short)
   ORDER BY random() LIMIT at_most
$$;

-- The published checkpoint of a log, if the tree reaches as far; null if there are witnesses and nothing is published.
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
