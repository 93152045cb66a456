-- Up Migration

-- The rights of each role in each channel. The migration job of a surface writes the rows of its role
-- (ledger-grants.ts); every function below checks the caller. The caller is session_user: within a SECURITY DEFINER
-- function current_user is the owner, and SET ROLE does not change session_user. The owner, its members and superusers
-- cannot be restricted.
CREATE TABLE grants (
  role    text    NOT NULL COLLATE "C",
  surface text    NOT NULL COLLATE "C",  -- who wrote the row; 'before': the role had every right before this table existed
  channel text    NOT NULL COLLATE "C",  -- a name; 'all'; or 'unowned': every channel that has no row with owns
  rights  text[]  NOT NULL CHECK (rights <@ ARRAY['append', 'read', 'audit', 'erase', 'integrate']),
  owns    boolean NOT NULL DEFAULT false,
  PRIMARY KEY (role, surface, channel),
  CHECK (NOT owns OR channel LIKE '%.%')
);

-- Expand first: a role that was granted the functions keeps every right until its own surface has been migrated.
INSERT INTO grants (role, surface, channel, rights)
  SELECT DISTINCT r.rolname, 'before', 'all', ARRAY['append', 'read', 'audit', 'erase', 'integrate']
    FROM pg_proc p CROSS JOIN LATERAL aclexplode(p.proacl) a JOIN pg_roles r ON r.oid = a.grantee
   WHERE p.pronamespace = 'ledger'::regnamespace AND p.proname = 'append_v1' AND a.grantee <> p.proowner;

-- Cache of the roles known to have the right to append. Every append reads and locks this row anyway, so the check
-- needs no lookup of its own. A change of grants clears it.
ALTER TABLE channels ADD COLUMN appenders text[] COLLATE "C" NOT NULL DEFAULT '{}';

-- Locks heads in the same order as appends. An append that holds a head has checked the grants before this change and
-- ends before its head is cleared; one that waits for it checks again.
CREATE FUNCTION forget_appenders() RETURNS trigger
LANGUAGE plpgsql SET search_path = ledger, pg_temp AS $$
BEGIN
  PERFORM 1 FROM channels ORDER BY channel FOR UPDATE;
  UPDATE channels SET appenders = '{}' WHERE appenders <> '{}';
  RETURN NULL;
END $$;

CREATE TRIGGER grants_changed AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON grants
  FOR EACH STATEMENT EXECUTE FUNCTION forget_appenders();

-- Whether the caller has one of these rights in a channel.
CREATE FUNCTION has_right(of_channel text, VARIADIC wanted text[]) RETURNS boolean
LANGUAGE plpgsql STABLE SET search_path = ledger, pg_temp AS $$
BEGIN
  IF EXISTS (
      SELECT 1 FROM grants g
       WHERE g.role = session_user::text AND g.rights && wanted
         AND (g.channel IN (of_channel, 'all')
              OR g.channel = 'unowned' AND NOT EXISTS (SELECT 1 FROM grants o WHERE o.channel = of_channel AND o.owns))) THEN
    RETURN true;
  END IF;
  -- The owner and superusers; then login roles that are members of the one that was granted.
  RETURN pg_has_role(session_user, current_user, 'MEMBER')
    OR EXISTS (
      SELECT 1 FROM grants g JOIN pg_roles r ON r.rolname = g.role
       WHERE g.rights && wanted AND pg_has_role(session_user, r.oid, 'USAGE')
         AND (g.channel IN (of_channel, 'all')
              OR g.channel = 'unowned' AND NOT EXISTS (SELECT 1 FROM grants o WHERE o.channel = of_channel AND o.owns)));
END $$;

-- Returns true or raises insufficient_privilege.
CREATE FUNCTION permitted(of_channel text, VARIADIC wanted text[]) RETURNS boolean
LANGUAGE plpgsql STABLE SET search_path = ledger, pg_temp AS $$
BEGIN
  IF NOT has_right(of_channel, VARIADIC wanted) THEN
    RAISE EXCEPTION 'role "%" has no right to % in channel "%"', session_user, array_to_string(wanted, ' or '), of_channel
      USING ERRCODE = 'insufficient_privilege';
  END IF;
  RETURN true;
END $$;

-- The rights of the caller in a channel.
CREATE FUNCTION rights_v1(of_channel text) RETURNS text[]
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = ledger, pg_temp AS $$
  SELECT ARRAY(SELECT r FROM unnest(ARRAY['append', 'read', 'audit', 'erase', 'integrate']) r WHERE has_right(of_channel, r))
$$;

-- For the migration job: replaces the grants that a surface has given to a role. wanted: [{"channel", "rights",
-- "owns"}].
CREATE FUNCTION set_grants(for_role text, by_surface text, wanted json) RETURNS void
LANGUAGE plpgsql SET search_path = ledger, pg_temp AS $$
BEGIN
  DELETE FROM grants WHERE role = for_role AND surface = by_surface;
  INSERT INTO grants (role, surface, channel, rights, owns)
    SELECT for_role, by_surface, w.channel, w.rights, coalesce(w.owns, false)
      FROM json_to_recordset(wanted) w (channel text, rights text[], owns boolean);
  -- Once every surface whose tables the role may use has said what it needs.
  DELETE FROM grants
   WHERE role = for_role AND surface = 'before' AND NOT EXISTS (
     SELECT 1 FROM pg_namespace n CROSS JOIN LATERAL aclexplode(n.nspacl) a JOIN pg_roles r ON r.oid = a.grantee
      WHERE n.nspname <> 'ledger' AND r.rolname = for_role
        AND EXISTS (SELECT 1 FROM pg_class t WHERE t.relnamespace = n.oid AND starts_with(t.relname, 'migrations_'))
        AND NOT EXISTS (SELECT 1 FROM grants g WHERE g.role = for_role AND g.surface = n.nspname));
END $$;

-- Prepares heads that append_v1 could not use: new ones, and those that do not list the caller as appender yet.
CREATE FUNCTION open_heads(unit_channel text[], unit_network text[]) RETURNS void
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

-- As in 0002_append.sql, but locks only heads that the caller may append to.
CREATE OR REPLACE FUNCTION append_v1(
  unit_channel text[], unit_network text[], unit_claim bytea[], unit_fingerprint text[], unit_transaction bytea[],
  unit_nonce bytea[], unit_note text[], unit_at bigint[], unit_records integer[],
  record_unit integer[], record_id text[], record_type text[], record_owner text[], record_data text[],
  record_extra text[], record_salt bytea[], record_data_hash bytea[], record_leaf_hash bytea[])
RETURNS TABLE (unit integer, outcome text, first_index bigint, detail json)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = ledger, pg_temp
  SET enable_seqscan = off SET enable_mergejoin = off SET plan_cache_mode = force_generic_plan AS $$
#variable_conflict use_column
DECLARE
  unit_count   CONSTANT integer := cardinality(unit_channel);
  unit_head    integer[];                 -- the channel_id of each unit
  head_ids     integer[];
  head_sizes   bigint[];                  -- where each channel's next record goes
  outcomes     text[]    := array_fill('written'::text, ARRAY[unit_count]);
  writes       boolean[] := array_fill(true, ARRAY[unit_count]);
  details      json[]    := array_fill(NULL::json, ARRAY[unit_count]);
  shifts       bigint[]  := array_fill(NULL::bigint, ARRAY[unit_count]);   -- index of a record = its ordinal + shift
  firsts       bigint[]  := array_fill(NULL::bigint, ARRAY[unit_count]);
  known        bigint[];                  -- per record: the index it has already; null while no record is known
  exact        bigint[];                  -- per record: the index it gets, for units that mix known and new
  looked_up    boolean   := false;        -- the ids that are taken are in known
  start        integer;                   -- ordinal of the unit's first record
  place        integer;
  fresh        integer;
  made         bigint;
  wanted       bigint;
  had          record;
  locked       bigint;
BEGIN
  -- 1. The heads, in one order for everybody, so that two calls never wait for each other in a circle. Those alone that
  --    the caller may append to: nobody holds, while waiting for a head of its own, one of somebody else.
  PERFORM 1 FROM channels WHERE channel = ANY (unit_channel) AND session_user = ANY (appenders) ORDER BY channel FOR UPDATE;
  GET DIAGNOSTICS locked = ROW_COUNT;
  SELECT array_agg(c.channel_id ORDER BY u.ordinal) INTO unit_head
    FROM unnest(unit_channel) WITH ORDINALITY u (channel, ordinal)
    JOIN channels c ON c.channel = u.channel AND session_user = ANY (c.appenders);
  head_ids := ARRAY(SELECT DISTINCT h FROM unnest(unit_head) h);
  -- One that became the caller's between the two statements is not locked yet.
  IF cardinality(unit_head) IS DISTINCT FROM unit_count OR cardinality(head_ids) <> locked THEN
    PERFORM open_heads(unit_channel, unit_network);
    SELECT array_agg(c.channel_id ORDER BY u.ordinal) INTO unit_head
      FROM unnest(unit_channel) WITH ORDINALITY u (channel, ordinal) JOIN channels c ON c.channel = u.channel;
    head_ids := ARRAY(SELECT DISTINCT h FROM unnest(unit_head) h);
  END IF;

  -- 2. Claims that are taken.
  FOR had IN
    SELECT u.ordinal::integer AS unit, c.claim, c.fingerprint
      FROM unnest(unit_claim) WITH ORDINALITY u (claim, ordinal) JOIN claims c ON c.claim = u.claim
  LOOP
    writes[had.unit] := false;
    IF had.fingerprint = ANY (string_to_array(unit_fingerprint[had.unit], ' ')) THEN
      outcomes[had.unit] := 'replayed';
      details[had.unit] := claim_detail(had.claim);
    ELSE
      outcomes[had.unit] := 'reused';
    END IF;
  END LOOP;

  -- 3. The ids. That none of them is taken is what nearly always holds, and entering them shows it for the price of one
  --    look at the index instead of two. Where one is taken, what was entered is undone, and all are looked up first.
  LOOP
    SELECT array_agg(size ORDER BY ordinal) INTO head_sizes
      FROM unnest(head_ids) WITH ORDINALITY h (channel_id, ordinal) JOIN channels USING (channel_id);

    -- The indexes of what is new: contiguous for a unit, contiguous over the units.
    start := 1;
    FOR u IN 1 .. unit_count LOOP
      IF writes[u] THEN
        place := array_position(head_ids, unit_head[u]);
        fresh := unit_records[u];
        IF known IS NULL OR num_nonnulls(VARIADIC known[start : start + unit_records[u] - 1]) = 0 THEN
          firsts[u] := head_sizes[place];
          shifts[u] := head_sizes[place] - start;
        ELSE
          fresh := 0;
          firsts[u] := NULL;
          shifts[u] := NULL;
          FOR r IN start .. start + unit_records[u] - 1 LOOP
            IF known[r] IS NULL THEN
              exact[r] := head_sizes[place] + fresh;
              fresh := fresh + 1;
            END IF;
          END LOOP;
          IF fresh = 0 THEN
            outcomes[u] := 'existing';
          END IF;
        END IF;
        head_sizes[place] := head_sizes[place] + fresh;
      ELSE
        firsts[u] := NULL;
      END IF;
      start := start + CASE WHEN unit_records[u] >= 0 THEN unit_records[u] END;
    END LOOP;
    -- Else a head would move by another number than that of the records, and partitions be made for what is not there.
    IF start IS DISTINCT FROM cardinality(record_id) + 1 THEN
      RAISE EXCEPTION 'the units do not have as many records as were sent' USING ERRCODE = 'invalid_parameter_value';
    END IF;

    BEGIN
      INSERT INTO record_ids (channel_id, id, idx)
        SELECT unit_head[record_unit[n]], record_id[n], coalesce(shifts[record_unit[n]] + n, exact[n])
          FROM generate_series(1, cardinality(record_id)) n
         WHERE writes[record_unit[n]] AND known[n] IS NULL;
      EXIT;
    EXCEPTION WHEN unique_violation THEN
      IF looked_up THEN
        RAISE;
      END IF;
    END;

    -- The same content is the first receipt, other content refuses the unit.
    looked_up := true;
    FOR had IN
      SELECT r.unit, r.ordinal, i.channel_id, i.idx
        FROM unnest(record_unit, record_id) WITH ORDINALITY r (unit, id, ordinal)
        JOIN record_ids i ON i.channel_id = unit_head[r.unit] AND i.id = r.id
       ORDER BY r.ordinal
    LOOP
      CONTINUE WHEN NOT writes[had.unit];
      PERFORM 1 FROM records o
        WHERE o.channel_id = had.channel_id AND o.idx = had.idx
          AND o.type = record_type[had.ordinal] AND o.owner IS NOT DISTINCT FROM record_owner[had.ordinal]
          AND o.data = record_data[had.ordinal] AND o.extra IS NOT DISTINCT FROM record_extra[had.ordinal];
      IF FOUND THEN
        IF known IS NULL THEN
          known := array_fill(NULL::bigint, ARRAY[cardinality(record_id)]);
          exact := known;
        END IF;
        known[had.ordinal] := had.idx;
      ELSE
        writes[had.unit] := false;
        outcomes[had.unit] := 'conflict';
        details[had.unit] := json_build_object('id', record_id[had.ordinal]);
      END IF;
    END LOOP;
  END LOOP;

  -- 4. The claims. One that another call has made on another channel meanwhile: nothing is written, the caller sends
  --    the same call again and finds it.
  INSERT INTO claims (claim, fingerprint, transaction_id, nonce, channel_id, first_index, record_count, indexes, note)
    SELECT u.claim, split_part(u.fingerprint, ' ', 1), u.transaction_id, u.nonce, unit_head[u.ordinal],
           firsts[u.ordinal], unit_records[u.ordinal],
           CASE WHEN firsts[u.ordinal] IS NULL THEN
             (SELECT array_agg(coalesce(known[r.ordinal], exact[r.ordinal]) ORDER BY r.ordinal)
                FROM unnest(record_unit) WITH ORDINALITY r (unit, ordinal) WHERE r.unit = u.ordinal) END,
           u.note
      FROM unnest(unit_claim, unit_fingerprint, unit_transaction, unit_nonce, unit_note)
           WITH ORDINALITY u (claim, fingerprint, transaction_id, nonce, note, ordinal)
     WHERE u.claim IS NOT NULL AND writes[u.ordinal]
     ORDER BY u.claim
    ON CONFLICT DO NOTHING;
  GET DIAGNOSTICS made = ROW_COUNT;
  SELECT count(*) INTO wanted
    FROM unnest(unit_claim, writes) u (claim, writes) WHERE u.claim IS NOT NULL AND u.writes;
  IF made <> wanted THEN
    RAISE EXCEPTION 'a claim was made by another call meanwhile' USING ERRCODE = 'serialization_failure';
  END IF;

  -- 5. The records, the heads.
  FOR h IN 1 .. cardinality(head_ids) LOOP
    IF head_sizes[h] >> 20 > 0 THEN
      PERFORM ensure_next_partition(head_sizes[h]);
    END IF;
  END LOOP;
  INSERT INTO records (channel_id, idx, id, type, owner, data, extra, salt, data_hash, leaf_hash, transaction_id, at_ms)
    SELECT unit_head[record_unit[n]], coalesce(shifts[record_unit[n]] + n, exact[n]), record_id[n], record_type[n],
           record_owner[n], record_data[n], record_extra[n], record_salt[n], record_data_hash[n], record_leaf_hash[n],
           unit_transaction[record_unit[n]], unit_at[record_unit[n]]
      FROM generate_series(1, cardinality(record_id)) n
     WHERE writes[record_unit[n]] AND known[n] IS NULL;
  UPDATE channels c SET size = h.size
    FROM unnest(head_ids, head_sizes) h (channel_id, size) WHERE c.channel_id = h.channel_id AND c.size <> h.size;

  -- 6. What became of each unit.
  IF known IS NOT NULL THEN
    FOR u IN 1 .. unit_count LOOP
      IF writes[u] AND firsts[u] IS NULL THEN
        details[u] := (
          SELECT receipts_detail(unit_transaction[u], unit_note[u], unit_head[u],
                   array_agg(coalesce(known[r.ordinal], exact[r.ordinal]) ORDER BY r.ordinal))
            FROM unnest(record_unit) WITH ORDINALITY r (unit, ordinal) WHERE r.unit = u);
      END IF;
    END LOOP;
  END IF;
  RETURN QUERY
    SELECT o.ordinal::integer, o.outcome, firsts[o.ordinal], details[o.ordinal]
      FROM unnest(outcomes) WITH ORDINALITY o (outcome, ordinal) ORDER BY o.ordinal;
END $$;

CREATE OR REPLACE FUNCTION conflict_v1(of_channel text, of_claim bytea, ids text[], types text[], owners text[], datas text[], extras text[]) RETURNS text
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = ledger, pg_temp AS $$
  SELECT r.id
    FROM channels c
    JOIN unnest(ids, types, owners, datas, extras) WITH ORDINALITY r (id, type, owner, data, extra, ordinal) ON true
    JOIN record_ids i ON i.channel_id = c.channel_id AND i.id = r.id
    JOIN records o ON o.channel_id = c.channel_id AND o.idx = i.idx
   WHERE c.channel = of_channel AND permitted(of_channel, 'append')
     AND NOT EXISTS (SELECT 1 FROM claims k WHERE k.claim = of_claim)
     AND (o.type <> r.type OR o.owner IS DISTINCT FROM r.owner OR o.data IS DISTINCT FROM r.data
          OR o.extra IS DISTINCT FROM r.extra)
   ORDER BY r.ordinal LIMIT 1
$$;

-- Called with the rights of the functions that need partitions, and by no role: it creates as many as requested.
CREATE FUNCTION ensure_partitions(up_to bigint) RETURNS void
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

CREATE OR REPLACE FUNCTION open_channel_v1(of_network text, of_channel text) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = ledger, pg_temp AS $$
  INSERT INTO channels (channel, network)
    SELECT of_channel, of_network WHERE permitted(of_channel, 'append') ON CONFLICT DO NOTHING
$$;

-- The channels in which the caller has any right.
CREATE OR REPLACE FUNCTION channels_v1() RETURNS TABLE (channel text, network text, size bigint, integrated bigint)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = ledger, pg_temp AS $$
  SELECT c.channel, c.network, c.size, coalesce(k.size, 0)
    FROM channels c LEFT JOIN checkpoints k USING (channel_id)
   WHERE has_right(c.channel, 'append', 'read', 'audit', 'erase', 'integrate') ORDER BY c.channel
$$;

CREATE OR REPLACE FUNCTION integrate_begin_v1(of_channel text, at_most integer)
RETURNS TABLE (head bigint, checkpoint text, integrated bigint, levels smallint[], tiles bigint[], edge bytea[],
               first_leaf bigint, last_leaf bigint, leaf_count bigint, leaves bytea)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = ledger, pg_temp AS $$
DECLARE
  ours channels%ROWTYPE;
BEGIN
  PERFORM permitted(of_channel, 'integrate');
  SELECT * INTO ours FROM channels c WHERE c.channel = of_channel;
  IF NOT FOUND THEN
    RETURN;
  END IF;
  -- One integrator at a time, by a lock that no other role can take: every role of the database can take an advisory one,
  -- so that decides only where there is no row yet.
  PERFORM 1 FROM checkpoints k WHERE k.channel_id = ours.channel_id FOR UPDATE SKIP LOCKED;
  IF NOT FOUND AND (NOT pg_try_advisory_xact_lock(hashtextextended('ledger.integrator ' || of_channel, 0))
                    OR EXISTS (SELECT 1 FROM checkpoints k WHERE k.channel_id = ours.channel_id)) THEN
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

CREATE OR REPLACE FUNCTION integrate_commit_v1(of_channel text, new_levels smallint[], new_tiles bigint[], new_hashes bytea[],
                                    new_size bigint, new_root bytea, new_note text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = ledger, pg_temp AS $$
DECLARE
  ours integer := (SELECT channel_id FROM channels WHERE channel = of_channel);
BEGIN
  PERFORM permitted(of_channel, 'integrate');
  IF (SELECT new_size > size FROM channels WHERE channel_id = ours) IS NOT FALSE THEN
    RAISE EXCEPTION 'a checkpoint is of records that are there' USING ERRCODE = 'invalid_parameter_value';
  END IF;
  INSERT INTO tiles (channel_id, level, tile, hashes)
    SELECT ours, n.level, n.tile, n.hashes FROM unnest(new_levels, new_tiles, new_hashes) n (level, tile, hashes)
    ON CONFLICT (channel_id, level, tile) DO UPDATE SET hashes = EXCLUDED.hashes;
  INSERT INTO checkpoints (channel_id, size, root, note) VALUES (ours, new_size, new_root, new_note)
    ON CONFLICT (channel_id) DO UPDATE SET size = EXCLUDED.size, root = EXCLUDED.root, note = EXCLUDED.note
    WHERE checkpoints.size <= EXCLUDED.size;
  PERFORM ensure_partitions(new_size + 524288);
END $$;

DROP FUNCTION ensure_partitions_v1;

CREATE OR REPLACE FUNCTION record_v1(of_channel text, of_id text)
RETURNS TABLE (network text, channel text, idx bigint, id text, type text, owner text, data text, extra text, salt bytea,
               data_hash bytea, leaf_hash bytea, transaction_id bytea, at_ms bigint)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = ledger, pg_temp AS $$
  SELECT c.network, c.channel, r.idx, r.id, r.type, r.owner, r.data, r.extra, r.salt, r.data_hash, r.leaf_hash,
         r.transaction_id, r.at_ms
    FROM channels c
    JOIN record_ids i ON i.channel_id = c.channel_id AND i.id = of_id
    JOIN records r ON r.channel_id = c.channel_id AND r.idx = i.idx
   WHERE c.channel = of_channel AND permitted(of_channel, 'read')
$$;

CREATE OR REPLACE FUNCTION receipts_v1(of_channel text, at_indexes bigint[])
RETURNS TABLE (idx bigint, id text, transaction_id text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = ledger, pg_temp AS $$
  SELECT r.idx, r.id, encode(r.transaction_id, 'hex')
    FROM channels c JOIN records r ON r.channel_id = c.channel_id
   WHERE c.channel = of_channel AND permitted(of_channel, 'append', 'read') AND r.idx = ANY (at_indexes)
$$;

CREATE OR REPLACE FUNCTION index_types_v1(of_channel text, at_most integer) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = ledger, pg_temp AS $$
DECLARE
  ours    channels%ROWTYPE;
  reached bigint;
BEGIN
  PERFORM permitted(of_channel, 'read');
  SELECT * INTO ours FROM channels WHERE channel = of_channel;
  IF NOT FOUND THEN
    RETURN true;
  END IF;
  INSERT INTO record_types_upto (channel_id, upto) VALUES (ours.channel_id, 0) ON CONFLICT DO NOTHING;
  SELECT upto INTO reached FROM record_types_upto WHERE channel_id = ours.channel_id FOR UPDATE;
  IF reached < ours.size THEN
    INSERT INTO record_types (channel_id, type, id, idx)
      SELECT channel_id, type, id, idx FROM records
       WHERE channel_id = ours.channel_id AND idx >= reached AND idx < least(ours.size, reached + at_most);
    UPDATE record_types_upto SET upto = least(ours.size, reached + at_most) WHERE channel_id = ours.channel_id;
  END IF;
  RETURN reached + at_most >= ours.size;
END $$;

CREATE OR REPLACE FUNCTION query_v1(of_channel text, of_type text, after_id text, at_most integer)
RETURNS TABLE (network text, channel text, idx bigint, id text, type text, owner text, data text, extra text, salt bytea,
               data_hash bytea, leaf_hash bytea, transaction_id bytea, at_ms bigint)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = ledger, pg_temp AS $$
  SELECT c.network, c.channel, r.idx, r.id, r.type, r.owner, r.data, r.extra, r.salt, r.data_hash, r.leaf_hash,
         r.transaction_id, r.at_ms
    FROM channels c
    JOIN LATERAL (SELECT t.id, t.idx FROM record_types t
                   WHERE t.channel_id = c.channel_id AND t.type = of_type AND t.id > after_id
                   ORDER BY t.id LIMIT at_most) t ON true
    CROSS JOIN LATERAL (SELECT o.* FROM records o WHERE o.channel_id = c.channel_id AND o.idx = t.idx OFFSET 0) r
   WHERE c.channel = of_channel AND permitted(of_channel, 'read')
   ORDER BY r.id
$$;

-- As in 0006_held.sql. Every check of the gate calls it, so the right is checked by the head row that it reads anyway.
-- A probe without a channel reads nothing.
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

-- Who erased: the role, and the person and request named by the surface. Null for rows written before this file.
ALTER TABLE erasures ADD COLUMN erased_by text, ADD COLUMN actor text, ADD COLUMN request_id text;

CREATE FUNCTION erasure_hash(e erasures) RETURNS bytea LANGUAGE sql STABLE
RETURN sha256(convert_to(CASE WHEN (e).erased_by IS NULL
  THEN concat_ws('|', (e).channel_id, (e).idx, (e).at_ms, (e).reason)
  ELSE json_build_array((e).channel_id, (e).idx, (e).at_ms, (e).reason, (e).erased_by, (e).actor, (e).request_id)::text
  END, 'UTF8'));

-- Removes salt and content; everything hashed into the tree stays, so every proof stays valid. The audit event of the
-- erasure is written here, into a table that no role can access, so there is no erasure without it.
CREATE FUNCTION erase_v2(of_channel text, of_id text, for_reason text, now_ms bigint, by_actor text, in_request text)
RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = ledger, pg_temp AS $$
DECLARE
  place record;
  event erasures%ROWTYPE;
BEGIN
  PERFORM permitted(of_channel, 'erase');
  IF coalesce(for_reason, '') = '' THEN
    RAISE EXCEPTION 'an erasure has a reason' USING ERRCODE = 'null_value_not_allowed';
  END IF;
  SELECT c.channel_id, i.idx INTO place
    FROM channels c JOIN record_ids i ON i.channel_id = c.channel_id AND i.id = of_id WHERE c.channel = of_channel;
  IF NOT FOUND THEN
    RETURN false;
  END IF;
  UPDATE records SET data = NULL, extra = NULL, salt = NULL
   WHERE channel_id = place.channel_id AND idx = place.idx AND salt IS NOT NULL;
  IF FOUND THEN
    event := (place.channel_id, place.idx, for_reason, now_ms, NULL, session_user::text, by_actor, in_request);
    event.row_hash := erasure_hash(event);
    INSERT INTO erasures SELECT event.*;
  END IF;
  RETURN true;
END $$;

-- For services of the previous version.
CREATE OR REPLACE FUNCTION erase_v1(of_channel text, of_id text, for_reason text, now_ms bigint) RETURNS boolean
LANGUAGE sql SECURITY DEFINER SET search_path = ledger, pg_temp AS $$
  SELECT erase_v2(of_channel, of_id, for_reason, now_ms, NULL, NULL)
$$;

-- The audit, as in 0004_audit.sql and 0005_query.sql, for callers with the right to audit.
CREATE OR REPLACE FUNCTION audit_records_v1(of_channel text, from_index bigint, until_index bigint)
RETURNS TABLE (row_count bigint, first_bad bigint, leaf_hashes bytea)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = ledger, pg_temp SET enable_seqscan = off AS $$
  SELECT count(*), min(s.idx) FILTER (WHERE s.is_bad), string_agg(s.leaf_hash, ''::bytea)
    FROM (SELECT r.idx, r.leaf_hash,
                 (CASE WHEN r.salt IS NULL OR r.data IS NULL
                    THEN num_nonnulls(r.salt, r.data, r.extra) > 0
                         OR NOT EXISTS (SELECT 1 FROM erasures e WHERE e.channel_id = r.channel_id AND e.idx = r.idx)
                    ELSE content_hash(r.salt, r.data, r.extra) <> r.data_hash END)
                 OR leaf_hash(r.at_ms, c.channel_json, r.data_hash, r.id, c.network_json, r.owner, r.transaction_id, r.type)
                    <> r.leaf_hash AS is_bad
            FROM audited_channels c
            JOIN records r ON r.channel_id = c.channel_id AND r.idx >= from_index AND r.idx < until_index
           WHERE c.channel = of_channel AND permitted(of_channel, 'audit') ORDER BY r.channel_id, r.idx) s
$$;

CREATE OR REPLACE FUNCTION audit_record_v1(of_channel text, at_index bigint) RETURNS TABLE (id text, problem text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = ledger, pg_temp AS $$
  SELECT r.id,
         CASE WHEN (r.salt IS NULL OR r.data IS NULL) AND NOT EXISTS (
                     SELECT 1 FROM erasures e WHERE e.channel_id = r.channel_id AND e.idx = r.idx)
                THEN 'its content is missing, and no erasure says so'
              WHEN (r.salt IS NULL OR r.data IS NULL) AND num_nonnulls(r.salt, r.data, r.extra) > 0
                THEN 'content and erasure do not agree'
              WHEN content_hash(r.salt, r.data, r.extra) <> r.data_hash THEN 'its content is not what was hashed'
              WHEN leaf_hash(r.at_ms, c.channel_json, r.data_hash, r.id, c.network_json, r.owner, r.transaction_id, r.type)
                   <> r.leaf_hash THEN 'it is not what its leaf was made of' END
    FROM audited_channels c JOIN records r ON r.channel_id = c.channel_id AND r.idx = at_index WHERE c.channel = of_channel AND permitted(of_channel, 'audit')
$$;

CREATE OR REPLACE FUNCTION audit_missing_v1(of_channel text, from_index bigint, until_index bigint) RETURNS bigint
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = ledger, pg_temp AS $$
  SELECT min(g.idx) FROM generate_series(from_index, until_index - 1) g (idx)
   WHERE permitted(of_channel, 'audit') AND NOT EXISTS (SELECT 1 FROM channels c JOIN records r ON r.channel_id = c.channel_id AND r.idx = g.idx
                      WHERE c.channel = of_channel)
$$;

CREATE OR REPLACE FUNCTION audit_ids_v1(of_channel text, seed bigint) RETURNS TABLE (idx bigint, id text)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = ledger, pg_temp AS $$
#variable_conflict use_column
DECLARE
  ours integer := (SELECT channel_id FROM channels WHERE channel = of_channel);
BEGIN
  PERFORM permitted(of_channel, 'audit');
  IF (SELECT sum(hashtextextended(r.id, seed # r.idx)) FROM records r WHERE r.channel_id = ours)
     IS DISTINCT FROM
     (SELECT sum(hashtextextended(i.id, seed # i.idx)) FROM record_ids i WHERE i.channel_id = ours) THEN
    RETURN QUERY SELECT r.idx, r.id FROM records r
      WHERE r.channel_id = ours AND NOT EXISTS (
        SELECT 1 FROM record_ids i WHERE i.channel_id = ours AND i.id = r.id AND i.idx = r.idx)
      ORDER BY r.idx LIMIT 1;
  END IF;
END $$;

CREATE OR REPLACE FUNCTION audit_claims_v1(of_channel text, after_claim bytea, at_most integer)
RETURNS TABLE (claim_count bigint, last_claim bytea, bad_claim bytea, bad_id text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = ledger, pg_temp SET enable_seqscan = off AS $$
  WITH page AS (
    SELECT k.claim, w.ids[1] AS first_id,
           cardinality(w.ids) IS DISTINCT FROM k.record_count
           OR transaction_hash(k.nonce, k.claim, k.fingerprint, of_channel, k.note, w.ids) <> k.transaction_id AS is_bad
      FROM (SELECT l.* FROM claims l JOIN channels c USING (channel_id)
             WHERE c.channel = of_channel AND l.claim > after_claim ORDER BY l.claim LIMIT at_most) k
           CROSS JOIN LATERAL (
             SELECT CASE WHEN k.indexes IS NULL THEN ARRAY(
                 SELECT r.id FROM records r
                  WHERE r.channel_id = k.channel_id AND r.idx >= k.first_index AND r.idx < k.first_index + k.record_count
                  ORDER BY r.channel_id, r.idx)
               ELSE ARRAY(
                 SELECT r.id FROM unnest(k.indexes) WITH ORDINALITY i (idx, ordinal)
                        JOIN records r ON r.channel_id = k.channel_id AND r.idx = i.idx
                  ORDER BY i.ordinal) END AS ids
             OFFSET 0) w)
  SELECT count(*), (array_agg(claim ORDER BY claim DESC))[1], (array_agg(claim ORDER BY claim) FILTER (WHERE is_bad))[1],
         (array_agg(first_id ORDER BY claim) FILTER (WHERE is_bad))[1]
    FROM page WHERE permitted(of_channel, 'audit')
$$;

CREATE OR REPLACE FUNCTION audit_counts_v1(of_channel text)
RETURNS TABLE (size bigint, network text, checkpoint_size bigint, checkpoint_root bytea, checkpoint text,
               beyond_head bigint, id_count bigint, stray_rows bigint, edited_erasure bigint, tile_count bigint)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = ledger, pg_temp AS $$
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

CREATE OR REPLACE FUNCTION audit_id_at_v1(of_channel text, at_index bigint) RETURNS text
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = ledger, pg_temp AS $$
  SELECT i.id FROM channels c JOIN record_ids i USING (channel_id) WHERE c.channel = of_channel AND permitted(of_channel, 'audit') AND i.idx = at_index LIMIT 1
$$;

CREATE OR REPLACE FUNCTION audit_types_v1(of_channel text) RETURNS bigint
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = ledger, pg_temp AS $$
  SELECT least(
    (SELECT min(t.idx) FROM channels c JOIN record_types t USING (channel_id)
      WHERE c.channel = of_channel AND NOT EXISTS (SELECT 1 FROM records r
        WHERE r.channel_id = t.channel_id AND r.idx = t.idx AND r.id = t.id AND r.type = t.type)),
    (SELECT coalesce(u.upto, 0) FROM channels c LEFT JOIN record_types_upto u USING (channel_id)
      WHERE c.channel = of_channel
        AND coalesce(u.upto, 0) <> (SELECT count(*) FROM record_types t WHERE t.channel_id = c.channel_id)))
   WHERE permitted(of_channel, 'audit')
$$;

-- Down Migration

-- The functions of earlier files trust every role. They are run again after this one, in order.
DROP FUNCTION erase_v2, erasure_hash, ensure_partitions, open_heads, set_grants, rights_v1, permitted, has_right;
ALTER TABLE erasures DROP COLUMN erased_by, DROP COLUMN actor, DROP COLUMN request_id;
ALTER TABLE channels DROP COLUMN appenders;
DROP TABLE grants;
DROP FUNCTION forget_appenders;
