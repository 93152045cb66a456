-- Up Migration

-- The signed statement of each log's own signing keys. channel_id is that of its tree, as in checkpoints. Readers
-- verify the signature: these rows are not trusted.
CREATE TABLE log_keys (
  channel_id integer PRIMARY KEY,
  note       text NOT NULL
);

CREATE FUNCTION log_keys_v1(of_logs text[]) RETURNS TABLE (log text, note text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = ledger, pg_temp SET jit = off AS $$
  SELECT l.log, k.note FROM logs l JOIN log_keys k ON k.channel_id = l.tree_id WHERE l.log = ANY (of_logs)
$$;

CREATE FUNCTION state_log_keys_v1(of_logs text[], new_notes text[]) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = ledger, pg_temp SET jit = off AS $$
BEGIN
  PERFORM permitted(split_part(n, '/', 1), 'integrate') FROM unnest(of_logs) n;
  -- In one order, so that two integrators never wait for each other's rows.
  INSERT INTO log_keys (channel_id, note)
    SELECT l.tree_id, n.note
      FROM unnest(of_logs, new_notes) n (log, note) JOIN logs l ON l.log = n.log
     ORDER BY l.tree_id
    ON CONFLICT (channel_id) DO UPDATE SET note = EXCLUDED.note;
END $$;

-- Down Migration

DROP FUNCTION log_keys_v1, state_log_keys_v1;
DROP TABLE log_keys;
