-- Up Migration

-- After a declared loss a channel continues in a new log, its next epoch: `acme.main/e1` after `acme.main`. Leaf 0 of
-- that log is the declaration of the loss, the record of first_index is leaf 1, and so on: records keep the numbering
-- of the channel, receipts and proofs state the leaf of the log they name.
CREATE TABLE epochs (
  channel_id  integer     NOT NULL,
  epoch       integer     NOT NULL CHECK (epoch > 0),
  tree_id     integer     NOT NULL UNIQUE,  -- stands where the tiles and the checkpoint of `acme.main` have its channel_id
  first_index bigint      NOT NULL,
  lost_until  bigint      NOT NULL,         -- in the numbering of the channel, as far as the database knows it
  kept_at_ms  bigint      NOT NULL,         -- when the last record before first_index was written: what came later may be lost
  statement   text        NOT NULL,         -- canonical JSON (RFC 8785), see declaration.ts
  leaf_hash   bytea       NOT NULL,
  declared_by text        NOT NULL,         -- the role
  actor       text,
  request_id  text,
  declared_at timestamptz NOT NULL,
  PRIMARY KEY (channel_id, epoch)
);

-- The newest epoch, available without cost to statements that lock or read a head.
ALTER TABLE channels ADD COLUMN epoch integer NOT NULL DEFAULT 0;

-- Losses of each log that does not continue its kept checkpoints, oldest first: [{"epoch", "lostFrom", "lostUntil",
-- "checkpoint", "surviving"}]. checkpoint is the newest kept note, surviving the newest one that the database
-- continues, or null. kept, lost_from and lost_until are those of the last. Null if the previous version wrote the row.
ALTER TABLE halts ADD COLUMN losses jsonb;

-- A log by its name. leaf = idx - shift; head is the number of its leaves, signed or not.
CREATE VIEW logs AS
  SELECT c.channel_id, c.channel, c.channel AS log, 0 AS epoch, c.channel_id AS tree_id, 0::bigint AS first_index,
         0::bigint AS shift, c.epoch > 0 AS is_ended,
         CASE WHEN c.epoch = 0 THEN c.size
              ELSE (SELECT min(n.first_index) FROM epochs n WHERE n.channel_id = c.channel_id) END AS head
    FROM channels c
  UNION ALL
  SELECT c.channel_id, c.channel, c.channel || '/e' || e.epoch, e.epoch, e.tree_id, e.first_index,
         e.first_index - 1, c.epoch > e.epoch,
         coalesce((SELECT min(n.first_index) FROM epochs n WHERE n.channel_id = c.channel_id AND n.epoch > e.epoch), c.size)
           - e.first_index + 1
    FROM epochs e JOIN channels c USING (channel_id);

-- Whether a loss was declared. Null: nothing was lost.
CREATE FUNCTION is_declared(of_channel integer, kept_note text) RETURNS boolean
LANGUAGE sql STABLE SET search_path = ledger, pg_temp AS $$
  SELECT kept_note IS NOT NULL AND EXISTS (
    SELECT 1 FROM epochs e CROSS JOIN LATERAL jsonb_array_elements(e.statement::jsonb -> 'lost') l
     WHERE e.channel_id = of_channel AND l ->> 'checkpoint' = kept_note)
$$;

-- Prevents new checkpoints of an ended log, whichever version the integrator has.
CREATE FUNCTION refuse_ended() RETURNS trigger
LANGUAGE plpgsql SET search_path = ledger, pg_temp AS $$
BEGIN
  IF EXISTS (SELECT 1 FROM channels c WHERE c.channel_id = NEW.channel_id AND c.epoch > 0)
     OR EXISTS (SELECT 1 FROM epochs e JOIN channels c USING (channel_id)
                 WHERE e.tree_id = NEW.channel_id AND c.epoch > e.epoch) THEN
    RAISE EXCEPTION 'this log ended with a declared loss' USING ERRCODE = 'invalid_parameter_value';
  END IF;
  RETURN NEW;
END $$;

CREATE TRIGGER checkpoint_of_open_log BEFORE INSERT OR UPDATE ON checkpoints
  FOR EACH ROW EXECUTE FUNCTION refuse_ended();

-- An integrator of the previous version does not know declarations. And a channel that waits for its epoch accepts no
-- records, whatever else is found.
CREATE FUNCTION keep_declared() RETURNS trigger
LANGUAGE plpgsql SET search_path = ledger, pg_temp AS $$
BEGIN
  IF is_declared(NEW.channel_id, NEW.kept) THEN
    RETURN NULL;
  END IF;
  IF TG_OP = 'UPDATE' AND NEW.kept IS NULL AND is_declared(OLD.channel_id, OLD.kept) THEN
    NEW.kept := OLD.kept;
    NEW.lost_from := OLD.lost_from;
    NEW.lost_until := OLD.lost_until;
    NEW.losses := OLD.losses;
  END IF;
  RETURN NEW;
END $$;

CREATE TRIGGER halt_of_undeclared_loss BEFORE INSERT OR UPDATE ON halts
  FOR EACH ROW EXECUTE FUNCTION keep_declared();

-- As halt_v1, with losses per log.
CREATE FUNCTION halt_v2(of_network text, of_channel text, why text, new_losses jsonb, now_ms bigint) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = ledger, pg_temp SET jit = off AS $$
DECLARE
  last CONSTANT jsonb := new_losses -> -1;
BEGIN
  PERFORM halt_v1(of_network, of_channel, why, last ->> 'checkpoint', (last ->> 'lostFrom')::bigint,
                  (last ->> 'lostUntil')::bigint, now_ms);
  UPDATE halts SET losses = new_losses
   WHERE channel_id = (SELECT channel_id FROM channels WHERE channel = of_channel)
     AND kept IS NOT DISTINCT FROM last ->> 'checkpoint' AND losses IS DISTINCT FROM new_losses;
END $$;

-- As halts_v1. declared: the loss was declared, and the channel resumes once its next epoch is signed. shared_at_ms:
-- the time of the last record that is not lost.
CREATE FUNCTION halts_v2()
RETURNS TABLE (channel text, problem text, losses jsonb, at_ms bigint, declared boolean, shared_at_ms bigint)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = ledger, pg_temp SET jit = off AS $$
  SELECT l.channel, h.problem, h.told, h.at_ms, is_declared(h.channel_id, h.kept),
         (SELECT r.at_ms FROM jsonb_array_elements(h.told) o
            JOIN records r ON r.channel_id = h.channel_id AND r.idx = (o ->> 'lostFrom')::bigint + l.shift - 1
           WHERE (o ->> 'epoch')::integer = l.epoch)
    FROM (SELECT *, CASE WHEN kept IS NULL THEN NULL ELSE coalesce(losses, jsonb_build_array(jsonb_build_object('epoch', 0,
                   'lostFrom', lost_from, 'lostUntil', lost_until, 'checkpoint', kept, 'surviving', NULL))) END AS told
            FROM halts) h
    JOIN logs l ON l.channel_id = h.channel_id AND NOT l.is_ended
   WHERE has_right(l.channel, 'append', 'read', 'audit', 'erase', 'integrate') ORDER BY l.channel
$$;

-- Declares the loss of a halted channel, and opens its next epoch; the channel stays halted. The caller builds the
-- statement, whose member lost must equal that of the halt: this proves that the caller has seen it. Repeated: returns
-- the epoch opened for this loss. Null: nothing is lost, or not this; nothing was done.
CREATE FUNCTION declare_loss_v1(of_channel text, new_statement text, by_actor text, in_request text) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = ledger, pg_temp SET jit = off AS $$
DECLARE
  said   CONSTANT jsonb := new_statement::jsonb;
  ours   channels%ROWTYPE;
  ended  logs%ROWTYPE;
  part   jsonb;                             -- what is said of the log that ends
  opened integer;
  first  bigint;
BEGIN
  PERFORM permitted(of_channel, 'integrate');
  SELECT * INTO ours FROM channels WHERE channel = of_channel FOR UPDATE;
  IF NOT FOUND THEN
    RETURN NULL;
  END IF;
  IF EXISTS (SELECT 1 FROM epochs e WHERE e.channel_id = ours.channel_id AND e.epoch = ours.epoch
                AND e.statement::jsonb -> 'lost' = said -> 'lost') THEN
    RETURN ours.epoch;
  END IF;
  IF NOT EXISTS (SELECT 1 FROM halts h WHERE h.channel_id = ours.channel_id AND h.losses = said -> 'lost') THEN
    RETURN NULL;
  END IF;
  SELECT 1 + greatest(ours.epoch, max((l ->> 'epoch')::integer)) INTO opened FROM jsonb_array_elements(said -> 'lost') l;
  IF (said ->> 'channel', (said ->> 'epoch')::integer) IS DISTINCT FROM (of_channel, opened) THEN
    RAISE EXCEPTION 'the statement is of another epoch than %', opened USING ERRCODE = 'invalid_parameter_value';
  END IF;
  SELECT * INTO ended FROM logs l WHERE l.channel_id = ours.channel_id AND l.epoch = ours.epoch;
  SELECT l INTO part FROM jsonb_array_elements(said -> 'lost') l WHERE (l ->> 'epoch')::integer = ours.epoch;
  -- An integrator that is at work on the log ends first; where it has no checkpoint yet, see integrate_begin_v2.
  PERFORM 1 FROM checkpoints k WHERE k.channel_id = ended.tree_id FOR UPDATE;
  IF NOT FOUND AND NOT pg_try_advisory_xact_lock(hashtextextended('ledger.integrator ' || ended.log, 0)) THEN
    RAISE EXCEPTION 'the log is being signed for' USING ERRCODE = 'serialization_failure';
  END IF;
  -- From now on its records are proved against the newest checkpoint that is kept and that the database continues.
  DELETE FROM checkpoints WHERE channel_id = ended.tree_id;
  IF part ->> 'surviving' IS NOT NULL THEN
    INSERT INTO checkpoints (channel_id, size, root, note)
      VALUES (ended.tree_id, (part ->> 'lostFrom')::bigint, decode(split_part(part ->> 'surviving', E'\n', 3), 'base64'),
              part ->> 'surviving');
  END IF;
  first := greatest(ended.first_index, ended.shift + coalesce((part ->> 'lostFrom')::bigint, 0));
  INSERT INTO epochs (channel_id, epoch, tree_id, first_index, lost_until, kept_at_ms, statement, leaf_hash, declared_by,
                      actor, request_id, declared_at)
    VALUES (ours.channel_id, opened, nextval(pg_get_serial_sequence('ledger.channels', 'channel_id')), first,
            greatest(first, ended.shift + coalesce((part ->> 'lostUntil')::bigint, 0)),
            coalesce((SELECT at_ms FROM records WHERE channel_id = ours.channel_id AND idx = first - 1), 0),
            new_statement, sha256('\x00'::bytea || convert_to(new_statement, 'UTF8')), session_user::text,
            by_actor, in_request, clock_timestamp());
  UPDATE channels SET epoch = opened WHERE channel_id = ours.channel_id;
  RETURN opened;
END $$;

-- As resume_v1, returning whether the channel resumes. After a declaration not before its epoch is signed and known to
-- every process: they read epochs once a second, and an append takes two seconds at most.
CREATE FUNCTION resume_v2(of_channel text) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = ledger, pg_temp SET jit = off AS $$
DECLARE
  ours channels%ROWTYPE;
BEGIN
  PERFORM permitted(of_channel, 'integrate');
  SELECT * INTO ours FROM channels WHERE channel = of_channel FOR UPDATE;
  IF EXISTS (SELECT 1 FROM halts h WHERE h.channel_id = ours.channel_id AND is_declared(h.channel_id, h.kept))
     AND NOT EXISTS (SELECT 1 FROM epochs e JOIN checkpoints k ON k.channel_id = e.tree_id
                      WHERE e.channel_id = ours.channel_id AND e.epoch = ours.epoch
                        AND e.declared_at < clock_timestamp() - interval '5 seconds') THEN
    RETURN false;
  END IF;
  DELETE FROM halts WHERE channel_id = ours.channel_id;
  RETURN true;
END $$;

-- The declared losses of these channels, or of all if null, limited to those in which the caller has any right.
-- Processes that state the position of a record have read this within the last second.
CREATE FUNCTION epochs_v1(of_channels text[])
RETURNS TABLE (channel text, epoch integer, first_index bigint, lost_until bigint, kept_at_ms bigint, declared_at_ms bigint,
               statement text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = ledger, pg_temp SET jit = off AS $$
  SELECT c.channel, e.epoch, e.first_index, e.lost_until, e.kept_at_ms,
         floor(extract(epoch FROM e.declared_at) * 1000)::bigint, e.statement
    FROM epochs e JOIN channels c USING (channel_id)
   WHERE (of_channels IS NULL OR c.channel = ANY (of_channels))
     AND has_right(c.channel, 'append', 'read', 'audit', 'erase', 'integrate')
   ORDER BY c.channel, e.epoch
$$;

-- As held_v1 before, for callers that check epochs_v1 for losses.
CREATE FUNCTION held_v2(of_channel text, ids text[]) RETURNS text[]
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = ledger, pg_temp
  SET enable_seqscan = off SET jit = off SET plan_cache_mode = force_generic_plan AS $$
DECLARE
  held    text[];
  appends boolean;
BEGIN
  SELECT array_agg(i.id) FILTER (WHERE i.id IS NOT NULL), bool_or(session_user = ANY (c.appenders)) INTO held, appends
    FROM channels c LEFT JOIN record_ids i ON i.channel_id = c.channel_id AND i.id = ANY (ids)
   WHERE c.channel = of_channel;
  IF appends IS NOT TRUE AND of_channel <> '' THEN
    PERFORM permitted(of_channel, 'append', 'read');
    PERFORM refuse_lost(ARRAY[of_channel]);
  END IF;
  RETURN held;
END $$;

-- For callers that treat absent ids as never written: refused for ever in a channel with a declared loss.
CREATE OR REPLACE FUNCTION held_v1(of_channel text, ids text[]) RETURNS text[]
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = ledger, pg_temp
  SET enable_seqscan = off SET jit = off SET plan_cache_mode = force_generic_plan AS $$
DECLARE
  held    text[];
  appends boolean;
  epoch   integer;
BEGIN
  SELECT array_agg(i.id) FILTER (WHERE i.id IS NOT NULL), bool_or(session_user = ANY (c.appenders)), max(c.epoch)
    INTO held, appends, epoch
    FROM channels c LEFT JOIN record_ids i ON i.channel_id = c.channel_id AND i.id = ANY (ids)
   WHERE c.channel = of_channel;
  IF appends IS NOT TRUE AND of_channel <> '' THEN
    PERFORM permitted(of_channel, 'append', 'read');
    PERFORM refuse_lost(ARRAY[of_channel]);
  END IF;
  IF epoch > 0 THEN
    RAISE EXCEPTION 'records that were signed for were lost' USING ERRCODE = '08L01', DETAIL = of_channel;
  END IF;
  RETURN held;
END $$;

-- The current log of each channel, and its signed size. is_declared: the channel waits for this epoch.
CREATE FUNCTION logs_v1() RETURNS TABLE (channel text, log text, size bigint, integrated bigint, is_declared boolean)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = ledger, pg_temp SET jit = off AS $$
  SELECT l.channel, l.log, l.head, coalesce(k.size, 0),
         l.epoch > 0 AND EXISTS (SELECT 1 FROM halts h WHERE h.channel_id = l.channel_id
                                    AND is_declared(h.channel_id, h.kept))
    FROM logs l LEFT JOIN checkpoints k ON k.channel_id = l.tree_id
   WHERE NOT l.is_ended AND has_right(l.channel, 'append', 'read', 'audit', 'erase', 'integrate') ORDER BY l.channel
$$;

-- As heads_v1, for the current log of each channel; statement is that of its declaration.
CREATE FUNCTION heads_v2(of_channels text[])
RETURNS TABLE (channel text, log text, size bigint, checkpoint text, statement text, leaf_hash bytea)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = ledger, pg_temp SET jit = off AS $$
  SELECT l.channel, l.log, l.head, k.note, e.statement, e.leaf_hash
    FROM logs l LEFT JOIN checkpoints k ON k.channel_id = l.tree_id LEFT JOIN epochs e ON e.tree_id = l.tree_id AND l.epoch > 0
   WHERE l.channel = ANY (of_channels) AND NOT l.is_ended AND permitted(l.channel, 'integrate')
$$;

-- As integrate_begin_v1, by log name; returns nothing for an ended log.
CREATE FUNCTION integrate_begin_v2(of_log text, at_most integer)
RETURNS TABLE (head bigint, checkpoint text, integrated bigint, levels smallint[], tiles bigint[], edge bytea[],
               first_leaf bigint, last_leaf bigint, leaf_count bigint, leaves bytea)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = ledger, pg_temp SET jit = off AS $$
DECLARE
  ours logs%ROWTYPE;
BEGIN
  PERFORM permitted(split_part(of_log, '/', 1), 'integrate');
  SELECT * INTO ours FROM logs l WHERE l.log = of_log;
  IF NOT FOUND THEN
    RETURN;
  END IF;
  -- One integrator at a time, by a lock that no other role can take: every role of the database can take an advisory one,
  -- so that decides only where there is no row yet.
  PERFORM 1 FROM checkpoints k WHERE k.channel_id = ours.tree_id FOR UPDATE SKIP LOCKED;
  IF NOT FOUND AND (NOT pg_try_advisory_xact_lock(hashtextextended('ledger.integrator ' || of_log, 0))
                    OR EXISTS (SELECT 1 FROM checkpoints k WHERE k.channel_id = ours.tree_id)) THEN
    RETURN;
  END IF;
  -- Read anew: between the two statements another integrator may have moved on, or the log have ended.
  SELECT * INTO ours FROM logs l WHERE l.log = of_log;
  IF ours.is_ended THEN
    RETURN;
  END IF;
  head := ours.head;
  SELECT k.note, k.size INTO checkpoint, integrated FROM checkpoints k WHERE k.channel_id = ours.tree_id;
  integrated := coalesce(integrated, 0);
  SELECT array_agg(t.level ORDER BY t.level), array_agg(t.tile ORDER BY t.level), array_agg(t.hashes ORDER BY t.level)
    INTO levels, tiles, edge
    FROM (SELECT l::smallint AS level, integrated >> (8 * (l + 1)) AS tile FROM generate_series(0, 6) l
           WHERE (integrated >> (8 * l)) & 255 > 0) w
    JOIN tiles t USING (level, tile) WHERE t.channel_id = ours.tree_id;
  SELECT min(r.idx) - ours.shift, max(r.idx) - ours.shift, count(*), string_agg(r.leaf_hash, ''::bytea ORDER BY r.idx)
    INTO first_leaf, last_leaf, leaf_count, leaves
    FROM records r
   WHERE r.channel_id = ours.channel_id AND r.idx >= greatest(ours.first_index, integrated + ours.shift)
     AND r.idx < integrated + at_most + ours.shift AND r.idx < head + ours.shift;
  IF ours.epoch > 0 AND integrated = 0 THEN
    SELECT e.leaf_hash || coalesce(leaves, ''::bytea) INTO leaves FROM epochs e WHERE e.tree_id = ours.tree_id;
    first_leaf := coalesce(first_leaf, 1) - 1;
    last_leaf := coalesce(last_leaf, 0);
    leaf_count := leaf_count + 1;
  END IF;
  RETURN NEXT;
END $$;

-- As integrate_commit_v2, by log name.
CREATE FUNCTION integrate_commit_v3(of_logs text[], new_sizes bigint[], new_roots bytea[], new_notes text[],
                                    new_log integer[], new_levels smallint[], new_tiles bigint[], new_hashes bytea[]) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = ledger, pg_temp SET jit = off AS $$
DECLARE
  ours integer[];
BEGIN
  PERFORM permitted(split_part(w.log, '/', 1), 'integrate') FROM unnest(of_logs) w (log);
  ours := ARRAY(SELECT l.tree_id FROM unnest(of_logs, new_sizes) WITH ORDINALITY w (log, size, ordinal)
                  LEFT JOIN logs l ON l.log = w.log AND l.head >= w.size ORDER BY w.ordinal);
  IF array_position(ours, NULL) IS NOT NULL THEN
    RAISE EXCEPTION 'a checkpoint is of records that are there' USING ERRCODE = 'invalid_parameter_value';
  END IF;
  INSERT INTO tiles (channel_id, level, tile, hashes)
    SELECT ours[n.log], n.level, n.tile, n.hashes
      FROM unnest(new_log, new_levels, new_tiles, new_hashes) n (log, level, tile, hashes)
    ON CONFLICT (channel_id, level, tile) DO UPDATE SET hashes = EXCLUDED.hashes;
  INSERT INTO checkpoints (channel_id, size, root, note)
    SELECT n.tree_id, n.size, n.root, n.note
      FROM unnest(ours, new_sizes, new_roots, new_notes) n (tree_id, size, root, note)
    ON CONFLICT (channel_id) DO UPDATE SET size = EXCLUDED.size, root = EXCLUDED.root, note = EXCLUDED.note
    WHERE checkpoints.size <= EXCLUDED.size;
END $$;

-- As before, by log name. For an ended log: the checkpoint that its surviving records are proved against.
CREATE OR REPLACE FUNCTION checkpoint_v1(of_channel text) RETURNS text
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = ledger, pg_temp SET jit = off AS $$
  SELECT k.note FROM logs l JOIN checkpoints k ON k.channel_id = l.tree_id WHERE l.log = of_channel
$$;

CREATE OR REPLACE FUNCTION tiles_v1(of_channel text, at_levels smallint[], at_tiles bigint[])
RETURNS TABLE (ordinal bigint, hashes bytea)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = ledger, pg_temp SET jit = off AS $$
  SELECT w.ordinal, t.hashes
    FROM unnest(at_levels, at_tiles) WITH ORDINALITY w (level, tile, ordinal)
    JOIN logs l ON l.log = of_channel
    JOIN tiles t ON t.channel_id = l.tree_id AND t.level = w.level AND t.tile = w.tile
   ORDER BY w.ordinal
$$;

-- The logs of a channel, oldest first, with their records from first_index up to, but not including, until_index.
-- is_edited: the columns of the row do not match its statement.
CREATE FUNCTION audit_logs_v1(of_channel text)
RETURNS TABLE (log text, epoch integer, first_index bigint, until_index bigint, checkpoint_size bigint, checkpoint_root bytea,
               checkpoint text, tile_count bigint, statement text, leaf_hash bytea, is_edited boolean)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = ledger, pg_temp SET jit = off AS $$
  SELECT l.log, l.epoch, l.first_index, l.head + l.shift, k.size, k.root, k.note,
         (SELECT count(*) FROM tiles t WHERE t.channel_id = l.tree_id), e.statement, e.leaf_hash,
         (SELECT c.epoch FROM channels c WHERE c.channel_id = l.channel_id)
           <> (SELECT coalesce(max(n.epoch), 0) FROM epochs n WHERE n.channel_id = l.channel_id)
         OR e.epoch IS NOT NULL AND NOT EXISTS (
           SELECT 1 FROM logs p
             LEFT JOIN LATERAL jsonb_array_elements(e.statement::jsonb -> 'lost') o ON (o ->> 'epoch')::integer = p.epoch
             CROSS JOIN LATERAL (
               SELECT greatest(p.first_index, p.shift + coalesce((o ->> 'lostFrom')::bigint, 0)) AS first) f
            WHERE p.channel_id = l.channel_id
              AND p.epoch = (SELECT max(b.epoch) FROM logs b WHERE b.channel_id = l.channel_id AND b.epoch < l.epoch)
              AND e.first_index = f.first
              AND e.lost_until = greatest(f.first, p.shift + coalesce((o ->> 'lostUntil')::bigint, 0))
              AND e.kept_at_ms = coalesce((SELECT r.at_ms FROM records r
                                            WHERE r.channel_id = l.channel_id AND r.idx = f.first - 1), 0)
              AND e.actor = e.statement::jsonb ->> 'actor')
    FROM logs l LEFT JOIN checkpoints k ON k.channel_id = l.tree_id LEFT JOIN epochs e ON e.tree_id = l.tree_id AND l.epoch > 0
   WHERE l.channel = of_channel AND permitted(of_channel, 'audit') ORDER BY l.epoch
$$;

-- As in 0007_grants.sql; tiles and checkpoints of an epoch belong to a channel, too.
CREATE OR REPLACE FUNCTION audit_counts_v1(of_channel text)
RETURNS TABLE (size bigint, network text, checkpoint_size bigint, checkpoint_root bytea, checkpoint text,
               beyond_head bigint, id_count bigint, stray_rows bigint, edited_erasure bigint, tile_count bigint)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = ledger, pg_temp SET jit = off AS $$
  SELECT c.size, c.network, k.size, k.root, k.note,
         (SELECT min(r.idx) FROM records r WHERE r.channel_id = c.channel_id AND r.idx >= c.size),
         (SELECT count(*) FROM record_ids i WHERE i.channel_id = c.channel_id),
         (SELECT count(*) FROM (
            SELECT channel_id FROM claims UNION ALL SELECT channel_id FROM tiles UNION ALL
            SELECT channel_id FROM checkpoints UNION ALL SELECT channel_id FROM erasures) s
           WHERE NOT EXISTS (SELECT 1 FROM channels o WHERE o.channel_id = s.channel_id)
             AND NOT EXISTS (SELECT 1 FROM epochs e WHERE e.tree_id = s.channel_id)),
         (SELECT min(e.idx) FROM erasures e
           WHERE e.channel_id = c.channel_id
             AND (e.row_hash <> erasure_hash(e)
                  OR NOT EXISTS (SELECT 1 FROM records r
                                  WHERE r.channel_id = e.channel_id AND r.idx = e.idx AND r.salt IS NULL))),
         (SELECT count(*) FROM tiles t WHERE t.channel_id = c.channel_id)
    FROM channels c LEFT JOIN checkpoints k USING (channel_id) WHERE c.channel = of_channel AND permitted(of_channel, 'audit')
$$;

-- Down Migration

DO $$
BEGIN
  IF EXISTS (SELECT 1 FROM ledger.epochs) THEN
    RAISE EXCEPTION 'a channel declared a loss: the version before would sign its old log again';
  END IF;
END $$;

CREATE OR REPLACE FUNCTION audit_counts_v1(of_channel text)
RETURNS TABLE (size bigint, network text, checkpoint_size bigint, checkpoint_root bytea, checkpoint text,
               beyond_head bigint, id_count bigint, stray_rows bigint, edited_erasure bigint, tile_count bigint)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = ledger, pg_temp SET jit = off AS $$
  SELECT c.size, c.network, k.size, k.root, k.note,
         (SELECT min(r.idx) FROM records r WHERE r.channel_id = c.channel_id AND r.idx >= c.size),
         (SELECT count(*) FROM record_ids i WHERE i.channel_id = c.channel_id),
         (SELECT count(*) FROM (
            SELECT channel_id FROM claims UNION ALL SELECT channel_id FROM tiles UNION ALL
            SELECT channel_id FROM checkpoints UNION ALL SELECT channel_id FROM erasures) s
           WHERE NOT EXISTS (SELECT 1 FROM channels o WHERE o.channel_id = s.channel_id)),
         (SELECT min(e.idx) FROM erasures e
           WHERE e.channel_id = c.channel_id
             AND (e.row_hash <> erasure_hash(e)
                  OR NOT EXISTS (SELECT 1 FROM records r
                                  WHERE r.channel_id = e.channel_id AND r.idx = e.idx AND r.salt IS NULL))),
         (SELECT count(*) FROM tiles t WHERE t.channel_id = c.channel_id)
    FROM channels c LEFT JOIN checkpoints k USING (channel_id) WHERE c.channel = of_channel AND permitted(of_channel, 'audit')
$$;

CREATE OR REPLACE FUNCTION checkpoint_v1(of_channel text) RETURNS text
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = ledger, pg_temp SET jit = off AS $$
  SELECT k.note FROM channels c JOIN checkpoints k USING (channel_id) WHERE c.channel = of_channel
$$;

CREATE OR REPLACE FUNCTION tiles_v1(of_channel text, at_levels smallint[], at_tiles bigint[])
RETURNS TABLE (ordinal bigint, hashes bytea)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = ledger, pg_temp SET jit = off AS $$
  SELECT w.ordinal, t.hashes
    FROM unnest(at_levels, at_tiles) WITH ORDINALITY w (level, tile, ordinal)
    JOIN channels c ON c.channel = of_channel
    JOIN tiles t ON t.channel_id = c.channel_id AND t.level = w.level AND t.tile = w.tile
   ORDER BY w.ordinal
$$;

CREATE OR REPLACE FUNCTION held_v1(of_channel text, ids text[]) RETURNS text[]
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = ledger, pg_temp
  SET enable_seqscan = off SET jit = off SET plan_cache_mode = force_generic_plan AS $$
DECLARE
  held    text[];
  appends boolean;
BEGIN
  SELECT array_agg(i.id) FILTER (WHERE i.id IS NOT NULL), bool_or(session_user = ANY (c.appenders)) INTO held, appends
    FROM channels c LEFT JOIN record_ids i ON i.channel_id = c.channel_id AND i.id = ANY (ids)
   WHERE c.channel = of_channel;
  IF appends IS NOT TRUE AND of_channel <> '' THEN
    PERFORM permitted(of_channel, 'append', 'read');
    PERFORM refuse_lost(ARRAY[of_channel]);
  END IF;
  RETURN held;
END $$;

DROP FUNCTION halt_v2, halts_v2, declare_loss_v1, resume_v2, epochs_v1, held_v2, logs_v1, heads_v2, integrate_begin_v2,
  integrate_commit_v3, audit_logs_v1;
DROP TRIGGER checkpoint_of_open_log ON checkpoints;
DROP TRIGGER halt_of_undeclared_loss ON halts;
DROP FUNCTION refuse_ended, keep_declared, is_declared;
DROP VIEW logs;
ALTER TABLE halts DROP COLUMN losses;
ALTER TABLE channels DROP COLUMN epoch;
DROP TABLE epochs;
