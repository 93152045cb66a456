-- Up Migration

-- Partitions of records are created ahead, by a job in every process that appends or integrates, and never by a write.
-- CREATE TABLE ... PARTITION OF needs ACCESS EXCLUSIVE on records: it waits behind a dump or a reader, and every write
-- waits behind it. ATTACH PARTITION needs SHARE UPDATE EXCLUSIVE, which does not affect readers and writers.

-- Whether the caller has one of these rights in any channel: returns true or raises insufficient_privilege.
CREATE FUNCTION permitted_somewhere(VARIADIC wanted text[]) RETURNS boolean
LANGUAGE plpgsql STABLE SET search_path = ledger, pg_temp AS $$
BEGIN
  IF NOT EXISTS (
       SELECT 1 FROM grants g LEFT JOIN pg_roles r ON r.rolname = g.role
        WHERE g.rights && wanted AND (g.role = session_user::text OR pg_has_role(session_user, r.oid, 'USAGE')))
     AND NOT pg_has_role(session_user, current_user, 'MEMBER') THEN
    RAISE EXCEPTION 'role "%" has no right to % in any channel', session_user, array_to_string(wanted, ' or ')
      USING ERRCODE = 'insufficient_privilege';
  END IF;
  RETURN true;
END $$;

-- The table is created in the transaction that attaches it, so it is empty and its scan reads no page. The table lock
-- is taken first, because only the owner's functions can take it: any role of the database could hold an advisory lock.
CREATE FUNCTION add_partition(ordinal bigint) RETURNS void
LANGUAGE plpgsql SET search_path = ledger, pg_temp AS $$
BEGIN
  LOCK TABLE records IN SHARE UPDATE EXCLUSIVE MODE;
  IF to_regclass(format('ledger.records_%s', ordinal)) IS NULL THEN
    EXECUTE format('CREATE TABLE records_%s (LIKE records INCLUDING ALL)', ordinal);
    EXECUTE format('ALTER TABLE records ATTACH PARTITION records_%s FOR VALUES FROM (%s) TO (%s)',
      ordinal, ordinal << 20, (ordinal + 1) << 20);
  END IF;
END $$;

-- Creates partitions ahead of the longest channel. Out: how many exist ahead of the one being written, and how many
-- should; fewer if another session (ANALYZE, CREATE INDEX CONCURRENTLY) holds the lock for longer than lock_timeout:
-- retry later. The caller cannot choose the number, so none can fill the database with partitions.
-- Four are some four million records of one channel: over an hour at 1,000 records a second. An empty one costs 24 KB,
-- and each adds a little to the planning of every statement that reads several.
CREATE FUNCTION make_partitions_v1() RETURNS TABLE (ahead integer, wanted integer)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = ledger, pg_temp SET lock_timeout = '200ms' AS $$
DECLARE
  writing CONSTANT bigint := (SELECT coalesce(max(size), 0) >> 20 FROM channels);
BEGIN
  PERFORM permitted_somewhere('append', 'integrate');
  wanted := 4;
  ahead := -1;
  FOR ordinal IN writing .. writing + wanted LOOP
    IF to_regclass(format('ledger.records_%s', ordinal)) IS NULL THEN
      BEGIN
        PERFORM add_partition(ordinal);
      EXCEPTION WHEN lock_not_available THEN
        EXIT;
      END;
    END IF;
    ahead := ahead + 1;
  END LOOP;
  RETURN NEXT;
END $$;

-- Raised for an append that reaches the end: services map 53400 to UNAVAILABLE and retry until their deadline; nothing
-- was written. (append_v1 calls it with the channel's new size.)
CREATE OR REPLACE FUNCTION ensure_next_partition(size bigint) RETURNS void
LANGUAGE plpgsql SET search_path = ledger, pg_temp AS $$
BEGIN
  IF to_regclass(format('ledger.records_%s', (size - 1) >> 20)) IS NULL THEN
    RAISE EXCEPTION 'ledger.records has no partition for record % yet', size - 1
      USING ERRCODE = 'configuration_limit_exceeded';
  END IF;
END $$;

-- For integrators of the previous version, which must not create partitions: called by integrate_commit_v1.
CREATE OR REPLACE FUNCTION ensure_partitions(up_to bigint) RETURNS void
LANGUAGE plpgsql SET search_path = ledger, pg_temp SET lock_timeout = '50ms' AS $$
BEGIN
  IF to_regclass(format('ledger.records_%s', up_to >> 20)) IS NULL THEN
    PERFORM add_partition(up_to >> 20);
  END IF;
EXCEPTION WHEN lock_not_available THEN
  NULL;
END $$;

-- As integrate_commit_v1, for many channels and without partitions. new_channel is the position in of_channels of each
-- tile's channel, from 1.
CREATE FUNCTION integrate_commit_v2(of_channels text[], new_sizes bigint[], new_roots bytea[], new_notes text[],
                                    new_channel integer[], new_levels smallint[], new_tiles bigint[], new_hashes bytea[]) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = ledger, pg_temp AS $$
DECLARE
  ours integer[];
BEGIN
  PERFORM permitted(w.channel, 'integrate') FROM unnest(of_channels) w (channel);
  ours := ARRAY(SELECT c.channel_id FROM unnest(of_channels, new_sizes) WITH ORDINALITY w (channel, size, ordinal)
                  LEFT JOIN channels c ON c.channel = w.channel AND c.size >= w.size ORDER BY w.ordinal);
  IF array_position(ours, NULL) IS NOT NULL THEN
    RAISE EXCEPTION 'a checkpoint is of records that are there' USING ERRCODE = 'invalid_parameter_value';
  END IF;
  INSERT INTO tiles (channel_id, level, tile, hashes)
    SELECT ours[n.channel], n.level, n.tile, n.hashes
      FROM unnest(new_channel, new_levels, new_tiles, new_hashes) n (channel, level, tile, hashes)
    ON CONFLICT (channel_id, level, tile) DO UPDATE SET hashes = EXCLUDED.hashes;
  INSERT INTO checkpoints (channel_id, size, root, note)
    SELECT n.channel_id, n.size, n.root, n.note
      FROM unnest(ours, new_sizes, new_roots, new_notes) n (channel_id, size, root, note)
    ON CONFLICT (channel_id) DO UPDATE SET size = EXCLUDED.size, root = EXCLUDED.root, note = EXCLUDED.note
    WHERE checkpoints.size <= EXCLUDED.size;
END $$;

-- The day a claim was made, so that old ones can be removed; existing ones count from today. A day instead of a
-- timestamp: equal keys share their place in the index, which then costs some 7 bytes per claim.
ALTER TABLE claims ADD COLUMN IF NOT EXISTS made_on date NOT NULL DEFAULT CURRENT_DATE;
CREATE INDEX IF NOT EXISTS claims_by_day ON claims (made_on);

-- Removes a limited number of older claims, of channels that the caller may append to; returns how many. No caller can
-- shorten the retention below 30 days, by the clock of the database. Records stay, and so do their ids.
CREATE FUNCTION forget_claims_v1(keep_days integer, at_most integer) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = ledger, pg_temp
  SET enable_seqscan = off SET plan_cache_mode = force_generic_plan AS $$
DECLARE
  removed integer;
BEGIN
  PERFORM permitted_somewhere('append');
  IF (keep_days >= 30) IS NOT TRUE THEN
    RAISE EXCEPTION 'claims are kept for 30 days at least' USING ERRCODE = 'invalid_parameter_value';
  END IF;
  DELETE FROM claims WHERE ctid = ANY (ARRAY(
    SELECT k.ctid FROM claims k JOIN channels c ON c.channel_id = k.channel_id
     WHERE k.made_on < CURRENT_DATE - keep_days
       AND (session_user = ANY (c.appenders) OR has_right(c.channel, 'append'))
     ORDER BY k.made_on LIMIT at_most FOR UPDATE OF k SKIP LOCKED));
  GET DIAGNOSTICS removed = ROW_COUNT;
  RETURN removed;
END $$;

-- JIT never pays here: enable_seqscan = off raises the estimated cost of a plan beyond every threshold (before
-- PostgreSQL 18), and an audit then compiles each of its many statements again. A replaced function needs the setting
-- again.
DO $$
DECLARE
  versioned regprocedure;
BEGIN
  FOR versioned IN
    SELECT oid FROM pg_proc WHERE pronamespace = 'ledger'::regnamespace AND proname ~ '_v[0-9]+$'
  LOOP
    EXECUTE format('ALTER FUNCTION %s SET jit = off', versioned);
  END LOOP;
END $$;

SELECT make_partitions_v1();

-- Down Migration

DO $$
DECLARE
  versioned regprocedure;
BEGIN
  FOR versioned IN
    SELECT oid FROM pg_proc WHERE pronamespace = 'ledger'::regnamespace AND proname ~ '_v[0-9]+$'
  LOOP
    EXECUTE format('ALTER FUNCTION %s RESET jit', versioned);
  END LOOP;
END $$;
DROP FUNCTION make_partitions_v1, forget_claims_v1, integrate_commit_v2;
DROP INDEX claims_by_day;
ALTER TABLE claims DROP COLUMN made_on;

CREATE OR REPLACE FUNCTION ensure_partitions(up_to bigint) RETURNS void
LANGUAGE plpgsql SET search_path = ledger, pg_temp AS $$
DECLARE
  width   CONSTANT bigint := 1048576;
  ordinal bigint;
BEGIN
  FOR ordinal IN 0 .. up_to / width LOOP
    IF to_regclass(format('ledger.records_%s', ordinal)) IS NULL THEN
      PERFORM pg_advisory_xact_lock(hashtextextended('ledger.partitions', 0));
      EXECUTE format('CREATE TABLE IF NOT EXISTS records_%s PARTITION OF records FOR VALUES FROM (%s) TO (%s)',
        ordinal, ordinal * width, (ordinal + 1) * width);
    END IF;
  END LOOP;
END $$;

CREATE OR REPLACE FUNCTION ensure_next_partition(size bigint) RETURNS void
LANGUAGE plpgsql SET search_path = ledger, pg_temp AS $$
BEGIN
  IF to_regclass('ledger.records_' || (size >> 20)) IS NULL THEN
    PERFORM ensure_partitions(size);
  END IF;
END $$;

DROP FUNCTION add_partition, permitted_somewhere;
