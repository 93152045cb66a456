-- Up Migration

-- Halted channels. The integrator writes the rows; every process reads those of its channels. kept is the newest signed
-- note kept outside the database, if the database does not continue it: the signed records from lost_from up to, but
-- not including, lost_until are not in the signed tree of the database.
CREATE TABLE halts (
  channel_id integer PRIMARY KEY,
  problem    text    NOT NULL,
  kept       text,
  lost_from  bigint,
  lost_until bigint,
  at_ms      bigint  NOT NULL,
  CHECK (num_nonnulls(kept, lost_from, lost_until) IN (0, 3)),
  CHECK (0 <= lost_from AND lost_from < lost_until)
);

-- An append to a channel that lost records would reuse their indexes. Appends do not read this table: they check
-- channels.appenders, which a halt clears under the lock of the head, and open_heads does not fill again. The error
-- code is of the class that services of the previous version treat as an outage without a write.
CREATE FUNCTION refuse_lost(of_channels text[]) RETURNS void
LANGUAGE plpgsql STABLE SET search_path = ledger, pg_temp AS $$
DECLARE
  lost text := (SELECT string_agg(c.channel, ' ' ORDER BY c.channel) FROM halts h JOIN channels c USING (channel_id)
                 WHERE c.channel = ANY (of_channels) AND h.kept IS NOT NULL);
BEGIN
  IF lost IS NOT NULL THEN
    RAISE EXCEPTION 'records that were signed for are missing' USING ERRCODE = '08L01', DETAIL = lost;
  END IF;
END $$;

-- As in 0007_grants.sql, and refuse_lost.
CREATE OR REPLACE FUNCTION open_heads(unit_channel text[], unit_network text[]) RETURNS void
LANGUAGE plpgsql SET search_path = ledger, pg_temp AS $$
BEGIN
  PERFORM permitted(u.channel, 'append') FROM (SELECT DISTINCT unnest(unit_channel) AS channel) u;
  INSERT INTO channels (channel, network)
    SELECT DISTINCT u.channel, u.network FROM unnest(unit_channel, unit_network) u (channel, network) ORDER BY 1
    ON CONFLICT DO NOTHING;
  PERFORM 1 FROM channels WHERE channel = ANY (unit_channel) ORDER BY channel FOR UPDATE;
  -- Now that a halt has to wait for this transaction.
  PERFORM refuse_lost(unit_channel);
  -- Again, now that a change of grants has to wait for this transaction.
  UPDATE channels SET appenders = appenders || session_user::text
   WHERE channel = ANY (unit_channel) AND permitted(channel, 'append') AND NOT session_user = ANY (appenders);
END $$;

-- As in 0007_grants.sql, and refuse_lost: lost ids are not reported as absent.
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

-- Halts a channel, or updates the reason. A missing channel is created without records, so that no append starts it
-- anew. kept_note null: nothing is known to be lost, and appends continue.
CREATE FUNCTION halt_v1(of_network text, of_channel text, why text, kept_note text, from_index bigint, until_index bigint,
                        now_ms bigint) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = ledger, pg_temp SET jit = off AS $$
DECLARE
  ours integer;
BEGIN
  PERFORM permitted(of_channel, 'integrate');
  INSERT INTO channels (channel, network) VALUES (of_channel, of_network) ON CONFLICT DO NOTHING;
  SELECT channel_id INTO ours FROM channels WHERE channel = of_channel FOR UPDATE;
  INSERT INTO halts (channel_id, problem, kept, lost_from, lost_until, at_ms)
    VALUES (ours, why, kept_note, from_index, until_index, now_ms)
    ON CONFLICT (channel_id) DO UPDATE SET problem = EXCLUDED.problem, kept = EXCLUDED.kept,
      lost_from = EXCLUDED.lost_from, lost_until = EXCLUDED.lost_until;
  IF kept_note IS NOT NULL THEN
    UPDATE channels SET appenders = '{}' WHERE channel_id = ours AND appenders <> '{}';
  END IF;
END $$;

-- Lifts a halt: the channel is restored.
CREATE FUNCTION resume_v1(of_channel text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = ledger, pg_temp SET jit = off AS $$
BEGIN
  PERFORM permitted(of_channel, 'integrate');
  DELETE FROM halts WHERE channel_id = (SELECT channel_id FROM channels WHERE channel = of_channel);
END $$;

-- The halts of channels in which the caller has any right.
CREATE FUNCTION halts_v1()
RETURNS TABLE (channel text, problem text, kept text, lost_from bigint, lost_until bigint, at_ms bigint)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = ledger, pg_temp SET jit = off AS $$
  SELECT c.channel, h.problem, h.kept, h.lost_from, h.lost_until, h.at_ms
    FROM halts h JOIN channels c USING (channel_id)
   WHERE has_right(c.channel, 'append', 'read', 'audit', 'erase', 'integrate') ORDER BY c.channel
$$;

-- The size and newest checkpoint of each channel.
CREATE FUNCTION heads_v1(of_channels text[]) RETURNS TABLE (channel text, size bigint, checkpoint text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = ledger, pg_temp SET jit = off AS $$
  SELECT c.channel, c.size, k.note FROM channels c LEFT JOIN checkpoints k USING (channel_id)
   WHERE c.channel = ANY (of_channels) AND permitted(c.channel, 'integrate')
$$;

-- Down Migration

CREATE OR REPLACE FUNCTION open_heads(unit_channel text[], unit_network text[]) RETURNS void
LANGUAGE plpgsql SET search_path = ledger, pg_temp AS $$
BEGIN
  PERFORM permitted(u.channel, 'append') FROM (SELECT DISTINCT unnest(unit_channel) AS channel) u;
  INSERT INTO channels (channel, network)
    SELECT DISTINCT u.channel, u.network FROM unnest(unit_channel, unit_network) u (channel, network) ORDER BY 1
    ON CONFLICT DO NOTHING;
  PERFORM 1 FROM channels WHERE channel = ANY (unit_channel) ORDER BY channel FOR UPDATE;
  -- Again, now that a change of grants has to wait for this transaction.
  UPDATE channels SET appenders = appenders || session_user::text
   WHERE channel = ANY (unit_channel) AND permitted(channel, 'append') AND NOT session_user = ANY (appenders);
END $$;

CREATE OR REPLACE FUNCTION held_v1(of_channel text, ids text[]) RETURNS text[]
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = ledger, pg_temp
  SET enable_seqscan = off SET plan_cache_mode = force_generic_plan AS $$
DECLARE
  held    text[];
  appends boolean;
BEGIN
  SELECT array_agg(i.id) FILTER (WHERE i.id IS NOT NULL), bool_or(session_user = ANY (c.appenders)) INTO held, appends
    FROM channels c LEFT JOIN record_ids i ON i.channel_id = c.channel_id AND i.id = ANY (ids)
   WHERE c.channel = of_channel;
  IF appends IS NOT TRUE AND of_channel <> '' AND NOT permitted(of_channel, 'append', 'read') THEN
    RETURN NULL;
  END IF;
  RETURN held;
END $$;

DROP FUNCTION halt_v1, resume_v1, halts_v1, heads_v1, refuse_lost;
DROP TABLE halts;
