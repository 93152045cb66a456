-- Up Migration

-- The embedded ledger: one append-only log per channel, a Merkle tree over each, signed checkpoints.
-- In this file: tables; rights; append; reading; tree and integration; publication and keys; halts and declared
-- losses; erasure and archive; audit.
--
-- A run-time role may execute the SECURITY DEFINER functions and nothing else: each of them checks the rights of the
-- caller. All other functions and all tables are internal.
--
-- JIT never pays here: enable_seqscan = off raises the estimated cost of a plan beyond every threshold (before
-- PostgreSQL 18), and an audit then compiles each of its many statements again. Plans are cached for the life of a
-- connection, and those made while the tables were empty must not read all of them once they are large: hence the planner
-- settings of single functions, which prevent a scan, and LATERAL (... OFFSET 0), which is looked up row by row and
-- prevents a hash join.

-- Tables. Those of the hot path have no CHECK constraints: every statement would parse them again, and the audit checks
-- more than they could.

-- The head of a channel. Its row lock makes indexes gap-free and the visible records always a prefix.
CREATE TABLE channels (
  channel_id     integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  channel        text    NOT NULL UNIQUE,
  network        text    NOT NULL,
  size           bigint  NOT NULL DEFAULT 0,
  appenders      text[]  COLLATE "C" NOT NULL DEFAULT '{}', -- cache of the roles known to have the right to append
  epoch          integer NOT NULL DEFAULT 0,                -- the newest declared loss, see epochs
  has_collisions boolean NOT NULL DEFAULT false             -- ids of the channel are in colliding_ids
) WITH (fillfactor = 50);
-- The order of lists, which does not depend on the locale of the server.
CREATE INDEX channels_by_name ON channels (channel COLLATE "C");

-- data and extra are canonical JSON (RFC 8785) as text: jsonb rejects U+0000 and rewrites numbers. Partitioned by
-- index, 1,048,576 records of a channel each, shared by all channels.
CREATE TABLE records (
  channel_id     integer NOT NULL,
  idx            bigint  NOT NULL,
  id             text    NOT NULL COLLATE "C",
  type           text    NOT NULL COLLATE "C",
  owner          text    COLLATE "C",
  data           text    COLLATE "C",
  extra          text    COLLATE "C",
  salt           bytea,                         -- null once the record is erased, like data and extra
  data_hash      bytea,                         -- null while it can be computed from salt and content
  leaf_hash      bytea   NOT NULL,
  transaction_id bytea   NOT NULL,
  at_ms          bigint  NOT NULL,
  PRIMARY KEY (channel_id, idx)
) PARTITION BY RANGE (idx);

-- An id is used once per channel, for ever: guarded by the lock of the head, which every append holds. The index finds
-- an id by 8 bytes of hash; id and uid are then compared completely.
CREATE TABLE ids (
  idx        bigint  NOT NULL,
  channel_id integer NOT NULL,
  uid        uuid,                 -- where the id is the text form of a UUID
  id         text    COLLATE "C"   -- where it is not
);
CREATE UNIQUE INDEX ids_by_hash ON ids (hashtextextended(coalesce(id, uid::text), channel_id));

-- Ids whose hash is that of another id in ids: there are hardly ever any.
CREATE TABLE colliding_ids (
  channel_id integer NOT NULL,
  id         text    NOT NULL COLLATE "C",
  idx        bigint  NOT NULL,
  PRIMARY KEY (channel_id, id)
);

-- Every id, in either table. By id: `hash = hashtextextended(X, channel) AND channel_id = channel AND id = X`. An
-- edited row that has both forms has no id here.
CREATE VIEW known_ids AS
  SELECT hashtextextended(coalesce(k.id, k.uid::text), k.channel_id) AS hash, k.channel_id,
         CASE WHEN k.uid IS NULL THEN k.id WHEN k.id IS NULL THEN k.uid::text END AS id, k.idx
    FROM ids k
  UNION ALL
  SELECT hashtextextended(w.id, w.channel_id), w.channel_id, w.id, w.idx FROM colliding_ids w;

-- Idempotency claims, in eight columns: a row with a null among more would have a longer header. The transaction id of
-- the records commits to every other column (see append-statement.ts), so an edit is detected. The first 15 bytes of a
-- claim must be unique; two claims that share them are refused as unavailable (SHA-256 cut to 120 bits).
CREATE TABLE claims (
  first_index  bigint,                        -- the unit's records follow one another from here; null: see odd
  channel_id   integer  NOT NULL,
  made_on      smallint NOT NULL,             -- days since 2000-01-01
  record_count smallint NOT NULL,
  claim_nonce  bytea    NOT NULL,             -- the 32 bytes of the claim, and the nonce
  fingerprint  text     NOT NULL COLLATE "C",
  note         text     NOT NULL COLLATE "C", -- U+0001 stands for the digits of the nonce
  odd          jsonb                          -- null: the transaction is that of the record at first_index. Else what
                                              -- does not follow: {transactionId, recordCount, indexes, note}
);
CREATE UNIQUE INDEX claims_by_claim ON claims (substr(claim_nonce, 1, 15));
-- A day instead of a timestamp: equal keys share their place in the index, which then costs some 7 bytes per claim.
CREATE INDEX claims_by_day ON claims (made_on);

-- Claims as they were made. By claim: `key = substr(X, 1, 15) AND claim = X`. transaction_id is null if it is that of
-- the record at first_index; indexes is null if the records follow one another from there.
CREATE VIEW decoded_claims AS
  SELECT substr(k.claim_nonce, 1, 15) AS key, substr(k.claim_nonce, 1, 32) AS claim, k.fingerprint,
         decode(k.odd ->> 'transactionId', 'hex') AS transaction_id, substr(k.claim_nonce, 33) AS nonce, k.channel_id,
         k.first_index, coalesce((k.odd ->> 'recordCount')::integer, k.record_count) AS record_count,
         translate(k.odd ->> 'indexes', '[]', '{}')::bigint[] AS indexes,
         coalesce(k.odd ->> 'note', replace(k.note, E'\x01', encode(substr(k.claim_nonce, 33), 'hex'))) AS note
    FROM claims k;

-- Why a record has no content. row_hash covers the other columns.
CREATE TABLE erasures (
  channel_id integer NOT NULL,
  idx        bigint  NOT NULL,
  reason     text    NOT NULL,
  at_ms      bigint  NOT NULL,
  row_hash   bytea   NOT NULL,
  erased_by  text    NOT NULL,  -- the role
  actor      text,              -- the person and the request, as named by the surface
  request_id text,
  PRIMARY KEY (channel_id, idx)
);

-- Records by type. The index is extended to the head only by queries, so that a surface that only appends does not pay
-- for it.
CREATE TABLE record_types (
  channel_id integer NOT NULL,
  type       text    NOT NULL COLLATE "C",
  id         text    NOT NULL COLLATE "C",
  idx        bigint  NOT NULL,
  PRIMARY KEY (channel_id, type, id)
);

-- How far record_types reaches: it contains every record below upto.
CREATE TABLE record_types_upto (
  channel_id integer PRIMARY KEY,
  upto       bigint  NOT NULL
);

-- Leaves of a tree by the first 8 bytes of their hash, likewise extended only by those who search it. Each answer is
-- compared with the tile, so an edited row can hide a leaf, and show no other.
CREATE TABLE leaf_places (
  tree_id   integer NOT NULL,
  beginning bigint  NOT NULL,
  leaf      bigint  NOT NULL,
  PRIMARY KEY (tree_id, beginning, leaf)
);
CREATE TABLE leaf_places_upto (
  tree_id integer PRIMARY KEY,
  upto    bigint  NOT NULL
);

-- Tiles of the Merkle tree (C2SP tlog-tiles): full ones, and the partial ones of the right edge as they grow.
CREATE TABLE tiles (
  channel_id integer  NOT NULL,
  level      smallint NOT NULL,
  tile       bigint   NOT NULL,
  hashes     bytea    NOT NULL,
  PRIMARY KEY (channel_id, level, tile)
);

-- The newest signed checkpoint of each log: channel_id is that of its tree. All checkpoints are also kept outside the
-- database.
CREATE TABLE checkpoints (
  channel_id integer PRIMARY KEY,
  size       bigint  NOT NULL,
  root       bytea   NOT NULL,
  note       text    NOT NULL
);

-- The published checkpoint of each log, if witnesses cosign: channel_id is that of its tree, as in checkpoints. A row
-- of no tree (0) marks that there are witnesses: a log without a row then shows no checkpoint yet. Without that row the
-- signed checkpoints are shown.
CREATE TABLE published (
  channel_id integer PRIMARY KEY,
  size       bigint  NOT NULL,
  note       text    NOT NULL,  -- with the cosignatures
  is_short   boolean NOT NULL   -- fewer than the policy asks for
);

-- The signed statement of each log's own signing keys. channel_id is that of its tree, as in checkpoints. Readers
-- verify the signature: these rows are not trusted.
CREATE TABLE log_keys (
  channel_id integer PRIMARY KEY,
  note       text    NOT NULL
);

-- The rights of each role in each channel. The migration job of a surface writes the rows of its role
-- (ledger-grants.ts).
CREATE TABLE grants (
  role    text    NOT NULL COLLATE "C",
  surface text    NOT NULL COLLATE "C",  -- who wrote the row
  channel text    NOT NULL COLLATE "C",  -- a name; 'all'; or 'unowned': every channel that has no row with owns
  rights  text[]  NOT NULL CHECK (rights <@ ARRAY['append', 'read', 'audit', 'erase', 'integrate']),
  owns    boolean NOT NULL DEFAULT false,
  PRIMARY KEY (role, surface, channel),
  CHECK (NOT owns OR channel LIKE '%.%')
);

-- Halted channels. The integrator writes the rows; every process reads those of its channels. losses: of each log that
-- does not continue its kept checkpoints, oldest first: [{"epoch", "lostFrom", "lostUntil", "checkpoint",
-- "surviving"}]. checkpoint is the newest signed note kept outside the database, surviving the newest one that the
-- database continues, or null: the signed entries from lostFrom up to, but not including, lostUntil are missing. losses
-- is null if nothing is known to be lost.
CREATE TABLE halts (
  channel_id integer PRIMARY KEY,
  problem    text    NOT NULL,
  losses     jsonb,
  at_ms      bigint  NOT NULL,
  CHECK (losses IS NULL OR (losses -> -1 ->> 'checkpoint') IS NOT NULL),
  CHECK ((losses -> -1 ->> 'lostFrom')::bigint BETWEEN 0 AND (losses -> -1 ->> 'lostUntil')::bigint - 1)
);

-- After a declared loss a channel continues in a new log, its next epoch: `acme.main/e1` after `acme.main`. Leaf 0 of
-- that log is the declaration of the loss, the record of first_index is leaf 1, and so on: records keep the numbering
-- of the channel, receipts and proofs state the leaf of the log they name.
CREATE TABLE epochs (
  channel_id  integer     NOT NULL,
  epoch       integer     NOT NULL CHECK (epoch > 0),
  tree_id     integer     NOT NULL UNIQUE,  -- where tiles and checkpoint of `acme.main` have its channel_id
  first_index bigint      NOT NULL,
  lost_until  bigint      NOT NULL,         -- in the numbering of the channel, as far as the database knows it
  kept_at_ms  bigint      NOT NULL,         -- when the last record before first_index was written
  statement   text        NOT NULL,         -- canonical JSON (RFC 8785), see loss/declare-loss.ts
  leaf_hash   bytea       NOT NULL,
  declared_by text        NOT NULL,         -- the role
  actor       text,
  request_id  text,
  declared_at timestamptz NOT NULL,
  PRIMARY KEY (channel_id, epoch)
);

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
         coalesce((SELECT min(n.first_index) FROM epochs n WHERE n.channel_id = c.channel_id AND n.epoch > e.epoch),
                  c.size) - e.first_index + 1
    FROM epochs e JOIN channels c USING (channel_id);

-- Records of a channel below an index can be stored in files instead of records (infra/decisions/
-- 0007-archived-records.md). Their ids stay in ids, their leaf hashes in the tiles, and the data needed for receipts,
-- create-once and the audit in this table, one row per stretch of at most 1,024 records. transactions and contents hold
-- 32 bytes per record.
CREATE TABLE archived (
  channel_id   integer NOT NULL,
  first_index  bigint  NOT NULL,
  until_index  bigint  NOT NULL,
  ids          text[]  COLLATE "C" NOT NULL,
  types        text[]  COLLATE "C" NOT NULL,
  transactions bytea   NOT NULL,
  salt         bytea   NOT NULL,
  contents     bytea   NOT NULL,
  last_at_ms   bigint  NOT NULL,              -- the time of the last record
  PRIMARY KEY (channel_id, first_index)
);
-- Hashes do not compress; uncompressed, one of them is read without the others.
ALTER TABLE archived ALTER COLUMN contents SET STORAGE EXTERNAL;

-- How far the archive of a channel reaches. Its row lock is held while files of the channel are written.
CREATE TABLE archives (
  channel_id integer PRIMARY KEY,
  upto       bigint  NOT NULL DEFAULT 0
);

-- Erased in the database, but not in the file yet.
CREATE TABLE unwritten_erasures (
  channel_id integer NOT NULL,
  idx        bigint  NOT NULL,
  PRIMARY KEY (channel_id, idx)
);

-- A channel in the form required by leaf. Select one with OFFSET 0: the texts are then made once, not for each record.
CREATE VIEW audited_channels AS
  SELECT c.channel_id, c.channel, to_json(c.channel)::text AS channel_json, to_json(c.network)::text AS network_json
    FROM channels c;

-- Rights. The caller is session_user: within a SECURITY DEFINER function current_user is the owner, and SET ROLE does
-- not change session_user. The owner, its members and superusers cannot be restricted.

-- Whether the caller has one of these rights in a channel.
CREATE FUNCTION has_right(of_channel text, VARIADIC wanted text[]) RETURNS boolean
LANGUAGE plpgsql STABLE SET search_path = ledger, pg_temp AS $$
BEGIN
  IF EXISTS (
      SELECT 1 FROM grants g
       WHERE g.role = session_user::text AND g.rights && wanted
         AND (g.channel IN (of_channel, 'all')
              OR g.channel = 'unowned'
                 AND NOT EXISTS (SELECT 1 FROM grants o WHERE o.channel = of_channel AND o.owns))) THEN
    RETURN true;
  END IF;
  -- The owner and superusers; then login roles that are members of the one that was granted.
  RETURN pg_has_role(session_user, current_user, 'MEMBER')
    OR EXISTS (
      SELECT 1 FROM grants g JOIN pg_roles r ON r.rolname = g.role
       WHERE g.rights && wanted AND pg_has_role(session_user, r.oid, 'USAGE')
         AND (g.channel IN (of_channel, 'all')
              OR g.channel = 'unowned'
                 AND NOT EXISTS (SELECT 1 FROM grants o WHERE o.channel = of_channel AND o.owns)));
END $$;

-- Returns true or raises insufficient_privilege.
CREATE FUNCTION permitted(of_channel text, VARIADIC wanted text[]) RETURNS boolean
LANGUAGE plpgsql STABLE SET search_path = ledger, pg_temp AS $$
BEGIN
  IF NOT has_right(of_channel, VARIADIC wanted) THEN
    RAISE EXCEPTION 'role "%" has no right to % in channel "%"',
      session_user, array_to_string(wanted, ' or '), of_channel USING ERRCODE = 'insufficient_privilege';
  END IF;
  RETURN true;
END $$;

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

-- The rights of the caller in a channel.
CREATE FUNCTION rights(of_channel text) RETURNS text[]
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = ledger, pg_temp SET jit = off AS $$
  SELECT ARRAY(
    SELECT r FROM unnest(ARRAY['append', 'read', 'audit', 'erase', 'integrate']) r WHERE has_right(of_channel, r))
$$;

-- In which channels the caller has any right: all, those without an owner, and these.
CREATE FUNCTION seen() RETURNS TABLE (all_channels boolean, unowned boolean, named text[])
LANGUAGE sql STABLE ROWS 1 SET search_path = ledger, pg_temp AS $$
  SELECT pg_has_role(session_user, current_user, 'MEMBER') OR coalesce(bool_or(g.channel = 'all'), false),
         coalesce(bool_or(g.channel = 'unowned'), false), array_agg(g.channel)
    FROM grants g LEFT JOIN pg_roles r ON r.rolname = g.role
   WHERE g.rights <> '{}' AND (g.role = session_user::text OR pg_has_role(session_user, r.oid, 'USAGE'))
$$;

-- The channels in which the caller has any right. It is found once for all of them, and not by has_right for each of
-- thousands. integrated: the number of entries of the current log that its checkpoint covers.
CREATE VIEW seen_channels AS
  SELECT c.channel_id, c.channel, c.size,
         coalesce((SELECT k.size FROM checkpoints k
                    WHERE k.channel_id = CASE WHEN c.epoch = 0 THEN c.channel_id
                            ELSE (SELECT e.tree_id FROM epochs e
                                   WHERE e.channel_id = c.channel_id AND e.epoch = c.epoch) END), 0) AS integrated
    FROM channels c
   WHERE (SELECT s.all_channels FROM seen() s) OR c.channel = ANY ((SELECT s.named FROM seen() s)::text[])
      OR (SELECT s.unowned FROM seen() s) AND NOT EXISTS (SELECT 1 FROM grants o WHERE o.channel = c.channel AND o.owns);

-- Every append reads and locks the head anyway, so the check of channels.appenders needs no lookup of its own. A change
-- of grants clears it, and locks heads in the same order as appends: an append that holds a head has checked the grants
-- before this change and ends before its head is cleared; one that waits for it checks again.
CREATE FUNCTION forget_appenders() RETURNS trigger
LANGUAGE plpgsql SET search_path = ledger, pg_temp AS $$
BEGIN
  PERFORM 1 FROM channels ORDER BY channel FOR UPDATE;
  UPDATE channels SET appenders = '{}' WHERE appenders <> '{}';
  RETURN NULL;
END $$;

CREATE TRIGGER grants_changed AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON grants
  FOR EACH STATEMENT EXECUTE FUNCTION forget_appenders();

-- For the migration job: replaces the grants that a surface has given to a role. wanted: [{"channel", "rights",
-- "owns"}].
CREATE FUNCTION set_grants(for_role text, by_surface text, wanted json) RETURNS void
LANGUAGE plpgsql SET search_path = ledger, pg_temp AS $$
BEGIN
  DELETE FROM grants WHERE role = for_role AND surface = by_surface;
  INSERT INTO grants (role, surface, channel, rights, owns)
    SELECT for_role, by_surface, w.channel, w.rights, coalesce(w.owns, false)
      FROM json_to_recordset(wanted) w (channel text, rights text[], owns boolean);
END $$;

-- Append: many units in one call, with one fsync. A unit is written completely or not at all, and a rejected unit does
-- not affect the others. The caller passes no claim and no (channel, id) twice in one call.
--
-- One element per unit in unit_*, one element per record in record_*; the records of a unit are adjacent, in the order
-- of the units. unit_fingerprint holds the fingerprints of the same request, separated by spaces; the first is stored.

-- Units of one channel. Out: one row `all written` with the index of the first record, if append_new wrote them; else
-- the rows of append_many, in the order of the units. carefully: duplicates are expected, so append_new is skipped.
CREATE FUNCTION append(
  of_channel text, of_network text, carefully boolean,
  unit_claim bytea[], unit_fingerprint text[], unit_transaction bytea[], unit_nonce bytea[], unit_note text[],
  unit_at bigint[], unit_records integer[], record_unit integer[], record_id text[], record_type text[],
  record_owner text[], record_data text[], record_extra text[], record_salt bytea[], record_leaf_hash bytea[])
RETURNS TABLE (outcome text, first_index bigint, detail json)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = ledger, pg_temp SET jit = off
  SET plan_cache_mode = force_generic_plan AS $$
DECLARE
  units CONSTANT integer[] := ARRAY[cardinality(unit_records)];
BEGIN
  IF NOT carefully THEN
    first_index := append_new(of_channel,
      unit_claim, unit_fingerprint, unit_transaction, unit_nonce, unit_note, unit_at, unit_records, record_unit,
      record_id, record_type, record_owner, record_data, record_extra, record_salt, record_leaf_hash);
    IF first_index IS NOT NULL THEN
      outcome := 'all written';
      RETURN NEXT;
      RETURN;
    END IF;
  END IF;
  RETURN QUERY
    SELECT a.outcome, a.first_index, a.detail
      FROM append_many(array_fill(of_channel, units), array_fill(of_network, units),
             unit_claim, unit_fingerprint, unit_transaction, unit_nonce, unit_note, unit_at, unit_records, record_unit,
             record_id, record_type, record_owner, record_data, record_extra, record_salt, record_leaf_hash) a
     ORDER BY a.unit;
END $$;

-- The common case: every claim and every id of a group is new. The head is moved and the rows are inserted without
-- prior lookups; duplicates raise unique violations, which roll everything back.
--
-- Units of one channel. Returns the index of the first record; the others follow without gaps in the order of the
-- units. Null: nothing was written, and append_many determines the outcome of each unit. It is null, too, if
-- append_many has to open the head first, or to write a claim that does not fit in a row of few bytes.
CREATE FUNCTION append_new(
  of_channel text,
  unit_claim bytea[], unit_fingerprint text[], unit_transaction bytea[], unit_nonce bytea[], unit_note text[],
  unit_at bigint[], unit_records integer[], record_unit integer[], record_id text[], record_type text[],
  record_owner text[], record_data text[], record_extra text[], record_salt bytea[], record_leaf_hash bytea[])
RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = ledger, pg_temp
  SET jit = off SET enable_seqscan = off SET plan_cache_mode = force_generic_plan AS $$
DECLARE
  total     CONSTANT bigint   := cardinality(record_id);
  today     CONSTANT smallint := CURRENT_DATE - date '2000-01-01';
  is_single boolean;   -- every unit has one record
  ours      integer;
  base      bigint;
  behind    bigint[];  -- of each unit, how many records there are up to its last; null where is_single
  uids      uuid[];
BEGIN
  SELECT min(n) = 1 AND max(n) = 1 INTO is_single FROM unnest(unit_records) n HAVING sum(n) = total AND min(n) >= 0;
  -- Else a head would move by another number than that of the records.
  IF NOT FOUND THEN
    RAISE EXCEPTION 'the units do not have as many records as were sent' USING ERRCODE = 'invalid_parameter_value';
  END IF;
  -- The head tells who may append, and a halt or a change of grants waits for it or is seen.
  UPDATE channels c SET size = c.size + total WHERE c.channel = of_channel AND session_user = ANY (c.appenders)
    RETURNING c.channel_id, c.size - total INTO ours, base;
  IF NOT FOUND THEN
    PERFORM permitted(of_channel, 'append');
    RETURN NULL;
  END IF;
  IF (base + total) >> 20 > 0 THEN
    PERFORM require_partition(base + total);
  END IF;
  -- The claims in one order for everybody, as in append_many: they are unique over all channels. Null, and so refused,
  -- is what a row of few bytes cannot say.
  IF NOT is_single THEN
    behind := ARRAY(SELECT sum(n.records) OVER (ORDER BY n.ordinal ROWS UNBOUNDED PRECEDING)
                      FROM unnest(unit_records) WITH ORDINALITY n (records, ordinal));
  END IF;
  INSERT INTO claims (first_index, channel_id, made_on, record_count, claim_nonce, fingerprint, note)
    SELECT base + coalesce(behind[u.ordinal] - u.records, u.ordinal - 1), ours, today, nullif(u.records, 0),
           CASE WHEN octet_length(u.claim) = 32 THEN u.claim || u.nonce END, split_part(u.fingerprint, ' ', 1),
           CASE WHEN strpos(u.note, E'\x01') = 0 THEN replace(u.note, encode(u.nonce, 'hex'), E'\x01') END
      FROM unnest(unit_claim, unit_fingerprint, unit_nonce, unit_note, unit_records)
           WITH ORDINALITY u (claim, fingerprint, nonce, note, records, ordinal)
     WHERE u.claim IS NOT NULL ORDER BY u.claim;
  -- Mostly all are UUIDs, or none. A cast of all costs less than a look at each.
  IF octet_length(record_id[1]) = 36 THEN
    BEGIN
      uids := record_id::uuid[];
    EXCEPTION WHEN invalid_text_representation THEN
      NULL;
    END;
  END IF;
  IF uids::text[] = record_id THEN
    INSERT INTO ids (idx, channel_id, uid)
      SELECT base + r.ordinal - 1, ours, r.uid FROM unnest(uids) WITH ORDINALITY r (uid, ordinal);
  ELSE
    INSERT INTO ids (idx, channel_id, uid, id)
      SELECT base + r.ordinal - 1, ours, r.uid, CASE WHEN r.uid IS NULL THEN r.id END
        FROM (SELECT n.ordinal, n.id, uuid_of(n.id) AS uid
                FROM unnest(record_id) WITH ORDINALITY n (id, ordinal) OFFSET 0) r;
  END IF;
  INSERT INTO records (channel_id, idx, id, type, owner, data, extra, salt, leaf_hash, transaction_id, at_ms)
    SELECT ours, base + r.ordinal - 1, r.id, r.type, r.owner, r.data, r.extra, r.salt, r.leaf_hash,
           unit_transaction[r.unit], unit_at[r.unit]
      FROM unnest(record_unit, record_id, record_type, record_owner, record_data, record_extra, record_salt,
                  record_leaf_hash)
           WITH ORDINALITY r (unit, id, type, owner, data, extra, salt, leaf_hash, ordinal);
  RETURN base;
EXCEPTION WHEN unique_violation OR not_null_violation OR numeric_value_out_of_range THEN
  RETURN NULL;
END $$;

-- Units of several channels, or with duplicates. Out: one row per unit, in order.
--   written   first_index if all records are new and contiguous, else detail
--   existing  every record existed with this content; detail
--   replayed  the claim exists with this fingerprint; detail is what it wrote
--   reused    the claim exists with another fingerprint
--   conflict  detail {"id"}: that id holds other content, or erased content
-- detail: {"transactionId", "note", "records": [{"id", "index", "transactionId", "leafHash"}]}
--
-- One statement per step, because under READ COMMITTED each takes a snapshot younger than the lock it waited for; a
-- single statement with several CTEs would use the snapshot it began with.
CREATE FUNCTION append_many(
  unit_channel text[], unit_network text[],
  unit_claim bytea[], unit_fingerprint text[], unit_transaction bytea[], unit_nonce bytea[], unit_note text[],
  unit_at bigint[], unit_records integer[], record_unit integer[], record_id text[], record_type text[],
  record_owner text[], record_data text[], record_extra text[], record_salt bytea[], record_leaf_hash bytea[])
RETURNS TABLE (unit integer, outcome text, first_index bigint, detail json)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = ledger, pg_temp SET jit = off
  SET enable_seqscan = off SET plan_cache_mode = force_generic_plan AS $$
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
  uids         uuid[];
BEGIN
  -- 1. The heads, in one order for everybody, so that two calls never wait for each other in a circle. Those alone that
  --    the caller may append to: nobody holds, while waiting for a head of its own, one of somebody else.
  PERFORM 1 FROM channels WHERE channel = ANY (unit_channel) AND session_user = ANY (appenders)
    ORDER BY channel FOR UPDATE;
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
      FROM unnest(unit_claim) WITH ORDINALITY u (claim, ordinal)
      CROSS JOIN LATERAL (SELECT d.claim, d.fingerprint FROM decoded_claims d
                           WHERE d.key = substr(u.claim, 1, 15) AND d.claim = u.claim OFFSET 0) c
  LOOP
    writes[had.unit] := false;
    IF had.fingerprint = ANY (string_to_array(unit_fingerprint[had.unit], ' ')) THEN
      outcomes[had.unit] := 'replayed';
      details[had.unit] := claim_detail(had.claim);
    ELSE
      outcomes[had.unit] := 'reused';
    END IF;
  END LOOP;

  -- As in append_new.
  IF octet_length(record_id[1]) = 36 THEN
    BEGIN
      uids := record_id::uuid[];
      uids := CASE WHEN uids::text[] = record_id THEN uids END;
    EXCEPTION WHEN invalid_text_representation THEN
      uids := NULL;
    END;
  END IF;

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
    -- Else a head would move by another number than that of the records.
    IF start IS DISTINCT FROM cardinality(record_id) + 1 THEN
      RAISE EXCEPTION 'the units do not have as many records as were sent' USING ERRCODE = 'invalid_parameter_value';
    END IF;

    BEGIN
      IF looked_up THEN
        PERFORM enter_ids(array_agg(unit_head[record_unit[n]]), array_agg(record_id[n]),
                          array_agg(coalesce(shifts[record_unit[n]] + n, exact[n])))
           FROM generate_series(1, cardinality(record_id)) n
          WHERE writes[record_unit[n]] AND known[n] IS NULL;
        EXIT;
      END IF;
      IF uids IS NOT NULL THEN
        INSERT INTO ids (idx, channel_id, uid)
          SELECT shifts[record_unit[n]] + n, unit_head[record_unit[n]], uids[n]
            FROM generate_series(1, cardinality(record_id)) n WHERE writes[record_unit[n]];
      ELSE
        INSERT INTO ids (idx, channel_id, uid, id)
          SELECT i.idx, i.channel_id, i.uid, CASE WHEN i.uid IS NULL THEN i.id END
            FROM (SELECT shifts[record_unit[n]] + n AS idx, unit_head[record_unit[n]] AS channel_id,
                         uuid_of(record_id[n]) AS uid, record_id[n] AS id
                    FROM generate_series(1, cardinality(record_id)) n WHERE writes[record_unit[n]] OFFSET 0) i;
      END IF;
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
        CROSS JOIN LATERAL (SELECT k.channel_id, k.idx FROM known_ids k
                             WHERE k.hash = hashtextextended(r.id, unit_head[r.unit])
                               AND k.channel_id = unit_head[r.unit] AND k.id = r.id OFFSET 0) i
       ORDER BY r.ordinal
    LOOP
      CONTINUE WHEN NOT writes[had.unit];
      IF holds_content(had.channel_id, had.idx, record_type[had.ordinal], record_owner[had.ordinal],
                       record_data[had.ordinal], record_extra[had.ordinal]) THEN
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
  INSERT INTO claims (first_index, channel_id, made_on, record_count, claim_nonce, fingerprint, note, odd)
    SELECT firsts[u.ordinal], unit_head[u.ordinal], CURRENT_DATE - date '2000-01-01',
           least(unit_records[u.ordinal], 32767), CASE WHEN octet_length(u.claim) = 32 THEN u.claim || u.nonce END,
           split_part(u.fingerprint, ' ', 1), replace(u.note, encode(u.nonce, 'hex'), E'\x01'),
           CASE WHEN firsts[u.ordinal] IS NULL OR unit_records[u.ordinal] NOT BETWEEN 1 AND 32767
                     OR strpos(u.note, E'\x01') > 0 THEN
             odd_claim(u.transaction_id, unit_records[u.ordinal], u.note, CASE WHEN firsts[u.ordinal] IS NULL THEN
               (SELECT array_agg(coalesce(known[r.ordinal], exact[r.ordinal]) ORDER BY r.ordinal)
                  FROM unnest(record_unit) WITH ORDINALITY r (unit, ordinal) WHERE r.unit = u.ordinal) END) END
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
      PERFORM require_partition(head_sizes[h]);
    END IF;
  END LOOP;
  INSERT INTO records (channel_id, idx, id, type, owner, data, extra, salt, leaf_hash, transaction_id, at_ms)
    SELECT unit_head[record_unit[n]], coalesce(shifts[record_unit[n]] + n, exact[n]), record_id[n], record_type[n],
           record_owner[n], record_data[n], record_extra[n], record_salt[n], record_leaf_hash[n],
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

-- Prepares heads that append_many could not use: new ones, and those that do not list the caller as appender yet.
CREATE FUNCTION open_heads(unit_channel text[], unit_network text[]) RETURNS void
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

-- Null if a text is not the canonical form of a UUID in PostgreSQL. Casting such a text would fail.
CREATE FUNCTION uuid_of(id text) RETURNS uuid LANGUAGE sql IMMUTABLE
RETURN CASE WHEN octet_length(id) = 36 AND id LIKE '________-____-____-____-____________'
              AND octet_length(replace(id, '-', '')) = 32
              AND ltrim(convert_to(id, 'UTF8'), '-0123456789abcdef'::bytea) = ''::bytea THEN id::uuid END;

-- For append_many, after its lookup: none of the ids is taken, so a taken hash belongs to another id.
CREATE FUNCTION enter_ids(heads integer[], new_ids text[], indexes bigint[]) RETURNS void
LANGUAGE plpgsql SET search_path = ledger, pg_temp AS $$
DECLARE
  entered bigint;
  beside  bigint;
BEGIN
  INSERT INTO ids (idx, channel_id, uid, id)
    SELECT n.idx, n.channel_id, n.uid, CASE WHEN n.uid IS NULL THEN n.id END
      FROM (SELECT i.*, uuid_of(i.id) AS uid FROM unnest(indexes, heads, new_ids) i (idx, channel_id, id) OFFSET 0) n
    ON CONFLICT DO NOTHING;
  GET DIAGNOSTICS entered = ROW_COUNT;
  IF entered < cardinality(new_ids) THEN
    INSERT INTO colliding_ids (channel_id, id, idx)
      SELECT n.channel_id, n.id, n.idx FROM unnest(heads, new_ids, indexes) n (channel_id, id, idx)
       WHERE NOT EXISTS (SELECT 1 FROM known_ids i WHERE i.hash = hashtextextended(n.id, n.channel_id)
                                                     AND i.channel_id = n.channel_id AND i.id = n.id);
    GET DIAGNOSTICS beside = ROW_COUNT;
    IF entered + beside <> cardinality(new_ids) THEN
      RAISE unique_violation;
    END IF;
    UPDATE channels SET has_collisions = true WHERE channel_id = ANY (heads) AND NOT has_collisions;
  END IF;
END $$;

-- Not in SQL, so that it costs nothing unless a claim is odd.
CREATE FUNCTION odd_claim(of_transaction bytea, records integer, of_note text, indexes bigint[]) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE SET search_path = ledger, pg_temp AS $$
BEGIN
  RETURN jsonb_build_object('transactionId', encode(of_transaction, 'hex'), 'recordCount', records, 'note', of_note,
                            'indexes', indexes);
END $$;

-- Creates a channel without records.
CREATE FUNCTION open_channel(of_network text, of_channel text) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = ledger, pg_temp SET jit = off AS $$
  INSERT INTO channels (channel, network)
    SELECT of_channel, of_network WHERE permitted(of_channel, 'append') ON CONFLICT DO NOTHING
$$;

-- Removes a limited number of older claims, of channels that the caller may append to; returns how many. No caller can
-- shorten the retention below 30 days, by the clock of the database. Records stay, and so do their ids.
CREATE FUNCTION forget_claims(keep_days integer, at_most integer) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = ledger, pg_temp
  SET jit = off SET enable_seqscan = off SET plan_cache_mode = force_generic_plan AS $$
DECLARE
  removed integer;
BEGIN
  PERFORM permitted_somewhere('append');
  IF (keep_days >= 30) IS NOT TRUE THEN
    RAISE EXCEPTION 'claims are kept for 30 days at least' USING ERRCODE = 'invalid_parameter_value';
  END IF;
  DELETE FROM claims WHERE ctid = ANY (ARRAY(
    SELECT k.ctid FROM claims k JOIN channels c ON c.channel_id = k.channel_id
     WHERE k.made_on < (CURRENT_DATE - date '2000-01-01' - keep_days)::smallint
       AND (session_user = ANY (c.appenders) OR has_right(c.channel, 'append'))
     ORDER BY k.made_on LIMIT at_most FOR UPDATE OF k SKIP LOCKED));
  GET DIAGNOSTICS removed = ROW_COUNT;
  RETURN removed;
END $$;

-- Partitions of records are created ahead, by a job in every process that appends or integrates, and never by a write.
-- CREATE TABLE ... PARTITION OF needs ACCESS EXCLUSIVE on records: it waits behind a dump or a reader, and every write
-- waits behind it. ATTACH PARTITION needs SHARE UPDATE EXCLUSIVE, which does not affect readers and writers.

-- For an append that reaches the end: services map 53400 to UNAVAILABLE and retry until their deadline; nothing was
-- written. size is the channel's new size.
CREATE FUNCTION require_partition(size bigint) RETURNS void
LANGUAGE plpgsql SET search_path = ledger, pg_temp AS $$
BEGIN
  IF to_regclass(format('ledger.records_%s', (size - 1) >> 20)) IS NULL THEN
    RAISE EXCEPTION 'ledger.records has no partition for record % yet', size - 1
      USING ERRCODE = 'configuration_limit_exceeded';
  END IF;
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
CREATE FUNCTION make_partitions() RETURNS TABLE (ahead integer, wanted integer)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = ledger, pg_temp SET lock_timeout = '200ms' SET jit = off AS $$
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

SELECT make_partitions();

-- Reading. to_json escapes strings exactly as RFC 8785 requires: short forms for the usual five, quote and backslash;
-- \u00xx for other controls; all else unescaped.

CREATE FUNCTION content_hash(salt bytea, data text, extra text) RETURNS bytea LANGUAGE sql STABLE
RETURN sha256(salt || convert_to('{"data":' || data || ',"extra":' || coalesce(extra, 'null') || '}', 'UTF8'));

-- A time as ECMAScript formats it, in quotes. to_json is several times as fast as to_char but drops trailing zeros of a
-- fraction: hence the microsecond, which is cut off again.
CREATE FUNCTION iso_millisecond(at_ms bigint) RETURNS text LANGUAGE sql STABLE
RETURN left(to_json(timestamp 'epoch' + (at_ms * interval '1 millisecond' + interval '1 microsecond'))::text, 24)
  || 'Z"';

-- The leaf of a record, in JCS order. channel and network are passed as JSON: they are the same for every row.
CREATE FUNCTION leaf(at_ms bigint, channel text, data_hash bytea, id text, network text, owner text,
                     transaction_id bytea, type text) RETURNS bytea LANGUAGE sql STABLE
RETURN convert_to(
  '{"at":' || iso_millisecond(at_ms) || ',"channel":' || channel || ',"dataHash":"' || encode(data_hash, 'hex')
  || '","id":' || to_json(id)::text || ',"network":' || network || ',"owner":' || coalesce(to_json(owner)::text, 'null')
  || ',"transactionId":"' || encode(transaction_id, 'hex') || '","type":' || to_json(type)::text || ',"v":1}', 'UTF8');

-- The first index of the archived stretch that contains an index; null for a record in the table.
CREATE FUNCTION stretch_of(of_channel integer, at_index bigint) RETURNS bigint
LANGUAGE sql STABLE SET search_path = ledger, pg_temp AS $$
  SELECT CASE WHEN at_index < s.until_index THEN s.first_index END
    FROM (SELECT a.first_index, a.until_index FROM archived a
           WHERE a.channel_id = of_channel AND a.first_index <= at_index ORDER BY a.first_index DESC LIMIT 1) s
$$;

-- What the database keeps of an archived record; no row for a record in the table.
CREATE FUNCTION archived_record(of_channel integer, at_index bigint)
RETURNS TABLE (idx bigint, id text, type text, transaction_id bytea, leaf_hash bytea, first_index bigint,
               until_index bigint)
LANGUAGE sql STABLE SET search_path = ledger, pg_temp AS $$
  SELECT at_index, a.ids[at_index - a.first_index + 1], a.types[at_index - a.first_index + 1],
         substring(a.transactions FROM (at_index - a.first_index)::integer * 32 + 1 FOR 32),
         (SELECT substring(t.hashes FROM (at_index & 255)::integer * 32 + 1 FOR 32) FROM tiles t
           WHERE t.channel_id = of_channel AND t.level = 0 AND t.tile = at_index >> 8),
         a.first_index, a.until_index
    FROM archived a WHERE a.channel_id = of_channel AND a.first_index = stretch_of(of_channel, at_index)
$$;

-- Ids and types of archived records in a range of indexes.
CREATE FUNCTION archived_types(of_channel integer, from_index bigint, until_index bigint)
RETURNS TABLE (idx bigint, id text, type text)
LANGUAGE sql STABLE SET search_path = ledger, pg_temp AS $$
  SELECT w.idx, w.id, w.type
    FROM (SELECT a.first_index + u.ordinal - 1 AS idx, u.id, u.type
            FROM archived a CROSS JOIN LATERAL unnest(a.ids, a.types) WITH ORDINALITY u (id, type, ordinal)
           WHERE a.channel_id = of_channel AND a.first_index < archived_types.until_index
             AND a.first_index >= coalesce(stretch_of(of_channel, from_index), from_index)) w
   WHERE w.idx >= from_index AND w.idx < archived_types.until_index
$$;

-- The transaction of the record at an index.
CREATE FUNCTION transaction_at(of_channel integer, at_index bigint) RETURNS bytea
LANGUAGE sql STABLE
RETURN coalesce((SELECT r.transaction_id FROM records r WHERE r.channel_id = of_channel AND r.idx = at_index),
                (SELECT a.transaction_id FROM archived_record(of_channel, at_index) a));

-- The receipts of the records at these indexes, in this order.
CREATE FUNCTION receipts_detail(of_transaction bytea, of_note text, of_channel integer, at_indexes bigint[])
RETURNS json LANGUAGE sql STABLE SET search_path = ledger, pg_temp AS $$
  SELECT json_build_object('transactionId', encode(of_transaction, 'hex'), 'note', of_note, 'records', (
    SELECT json_agg(json_build_object('id', r.id, 'index', r.idx, 'transactionId', encode(r.transaction_id, 'hex'),
                                      'leafHash', encode(r.leaf_hash, 'hex')) ORDER BY i.ordinal)
      FROM unnest(at_indexes) WITH ORDINALITY i (idx, ordinal)
           -- Held apart, so that a plan made while the table was empty still looks up record by record.
           CROSS JOIN LATERAL (SELECT o.id, o.idx, o.transaction_id, o.leaf_hash FROM records o
                                WHERE o.channel_id = of_channel AND o.idx = i.idx
                               UNION ALL
                               SELECT a.id, a.idx, a.transaction_id, a.leaf_hash
                                 FROM archived_record(of_channel, i.idx) a OFFSET 0) r))
$$;

CREATE FUNCTION claim_detail(of_claim bytea) RETURNS json
LANGUAGE sql STABLE SET search_path = ledger, pg_temp AS $$
  SELECT receipts_detail(coalesce(c.transaction_id, transaction_at(c.channel_id, c.first_index)), c.note, c.channel_id,
           coalesce(c.indexes, ARRAY(SELECT generate_series(c.first_index, c.first_index + c.record_count - 1))))
    FROM decoded_claims c WHERE c.key = substr(of_claim, 1, 15) AND c.claim = of_claim
$$;

-- The first of these ids that holds other content; null if there is none, or if the claim is taken: then append has the
-- result. It guarantees nothing about the next moment.
CREATE FUNCTION conflict(
  of_channel text, of_claim bytea, ids text[], types text[], owners text[], datas text[], extras text[]) RETURNS text
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = ledger, pg_temp
  SET enable_seqscan = off SET jit = off SET plan_cache_mode = force_generic_plan AS $$
BEGIN
  RETURN (
    SELECT r.id
      FROM channels c
      CROSS JOIN unnest(ids, types, owners, datas, extras) WITH ORDINALITY r (id, type, owner, data, extra, ordinal)
      CROSS JOIN LATERAL (SELECT k.idx FROM known_ids k WHERE k.hash = hashtextextended(r.id, c.channel_id)
                                                           AND k.channel_id = c.channel_id AND k.id = r.id OFFSET 0) i
     WHERE c.channel = of_channel AND permitted(of_channel, 'append')
       AND NOT EXISTS (SELECT 1 FROM decoded_claims k WHERE k.key = substr(of_claim, 1, 15) AND k.claim = of_claim)
       AND NOT holds_content(c.channel_id, i.idx, r.type, r.owner, r.data, r.extra)
     ORDER BY r.ordinal LIMIT 1);
END $$;

-- The ids that the channel holds, regardless of their content, erased ones too; null if there is none. Ids of lost
-- records are absent: callers that treat absent ids as never written check epochs. It uses the snapshot of the calling
-- statement, so a caller can compare its own rows with the ledger in one statement. Every check of the gate calls it,
-- so the right is checked by the head that it reads anyway. A probe without a channel reads nothing.
CREATE FUNCTION held(of_channel text, ids text[]) RETURNS text[]
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = ledger, pg_temp
  SET enable_seqscan = off SET jit = off SET plan_cache_mode = force_generic_plan AS $$
DECLARE
  found_ids text[];
  appends   boolean;
  ours      integer;  -- where colliding_ids may hold some, too
BEGIN
  SELECT array_agg(w.id) FILTER (WHERE k.idx IS NOT NULL), bool_or(session_user = ANY (c.appenders)),
         max(c.channel_id) FILTER (WHERE c.has_collisions)
    INTO found_ids, appends, ours
    FROM channels c LEFT JOIN unnest(ids) w (id) ON true
         LEFT JOIN LATERAL (
           SELECT i.idx FROM ids i
            WHERE hashtextextended(coalesce(i.id, i.uid::text), i.channel_id) = hashtextextended(w.id, c.channel_id)
              AND i.channel_id = c.channel_id AND coalesce(i.id, i.uid::text) = w.id OFFSET 0) k ON true
   WHERE c.channel = of_channel;
  IF ours IS NOT NULL THEN
    found_ids := nullif(found_ids || ARRAY(
      SELECT w.id FROM colliding_ids w WHERE w.channel_id = ours AND w.id = ANY (ids)), '{}');
  END IF;
  IF appends IS NOT TRUE AND of_channel <> '' THEN
    PERFORM permitted(of_channel, 'append', 'read');
    PERFORM refuse_lost(ARRAY[of_channel]);
  END IF;
  RETURN found_ids;
END $$;

-- For an archived record: its stretch (archived_from, archived_until) and the values kept in the database; owner, data,
-- extra, salt, data_hash and at_ms are null.
CREATE FUNCTION record(of_channel text, of_id text)
RETURNS TABLE (network text, channel text, idx bigint, id text, type text, owner text, data text, extra text,
               salt bytea, data_hash bytea, leaf_hash bytea, transaction_id bytea, at_ms bigint,
               archived_from bigint, archived_until bigint, erased boolean)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = ledger, pg_temp
  SET enable_seqscan = off SET jit = off SET plan_cache_mode = force_generic_plan AS $$
#variable_conflict use_column
BEGIN
  PERFORM permitted(of_channel, 'read');
  RETURN QUERY
    SELECT c.network, c.channel, r.idx, r.id, r.type, r.owner, r.data, r.extra, r.salt,
           coalesce(r.data_hash, content_hash(r.salt, r.data, r.extra)), r.leaf_hash, r.transaction_id, r.at_ms,
           NULL::bigint, NULL::bigint, r.salt IS NULL
      FROM channels c
      CROSS JOIN LATERAL (SELECT k.idx FROM known_ids k WHERE k.hash = hashtextextended(of_id, c.channel_id)
                                                           AND k.channel_id = c.channel_id AND k.id = of_id OFFSET 0) i
      JOIN records r ON r.channel_id = c.channel_id AND r.idx = i.idx
     WHERE c.channel = of_channel
    UNION ALL
    SELECT c.network, c.channel, a.idx, a.id, a.type, NULL, NULL, NULL, NULL, NULL, a.leaf_hash, a.transaction_id, NULL,
           a.first_index, a.until_index,
           EXISTS (SELECT 1 FROM erasures e WHERE e.channel_id = c.channel_id AND e.idx = a.idx)
      FROM channels c
      CROSS JOIN LATERAL (SELECT k.idx FROM known_ids k WHERE k.hash = hashtextextended(of_id, c.channel_id)
                                                           AND k.channel_id = c.channel_id AND k.id = of_id OFFSET 0) i
      CROSS JOIN LATERAL archived_record(c.channel_id, i.idx) a
     WHERE c.channel = of_channel;
END $$;

-- Extends record_types towards the head by so many records at most. Returns whether it has reached the head.
CREATE FUNCTION index_types(of_channel text, at_most integer) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = ledger, pg_temp SET jit = off AS $$
DECLARE
  ours     channels%ROWTYPE;
  reached  bigint;
  reaching bigint;
BEGIN
  PERFORM permitted(of_channel, 'read');
  SELECT * INTO ours FROM channels WHERE channel = of_channel;
  IF NOT FOUND THEN
    RETURN true;
  END IF;
  INSERT INTO record_types_upto (channel_id, upto) VALUES (ours.channel_id, 0) ON CONFLICT DO NOTHING;
  SELECT upto INTO reached FROM record_types_upto WHERE channel_id = ours.channel_id FOR UPDATE;
  reaching := least(ours.size, reached + at_most);
  IF reached < ours.size THEN
    INSERT INTO record_types (channel_id, type, id, idx)
      SELECT channel_id, type, id, idx FROM records
       WHERE channel_id = ours.channel_id AND idx >= reached AND idx < reaching
      UNION ALL
      SELECT ours.channel_id, a.type, a.id, a.idx FROM archived_types(ours.channel_id, reached, reaching) a;
    UPDATE record_types_upto SET upto = reaching WHERE channel_id = ours.channel_id;
  END IF;
  RETURN reaching >= ours.size;
END $$;

-- By id in code point order (the order of UTF-8 bytes), of records in record_types. Archived ones are as in record.
CREATE FUNCTION query(of_channel text, of_type text, after_id text, at_most integer)
RETURNS TABLE (network text, channel text, idx bigint, id text, type text, owner text, data text, extra text,
               salt bytea, data_hash bytea, leaf_hash bytea, transaction_id bytea, at_ms bigint,
               archived_from bigint, archived_until bigint, erased boolean)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = ledger, pg_temp SET jit = off AS $$
  SELECT c.network, c.channel, r.idx, r.id, r.type, r.owner, r.data, r.extra, r.salt, r.data_hash, r.leaf_hash,
         r.transaction_id, r.at_ms, r.archived_from, r.archived_until, r.erased
    FROM channels c
    JOIN LATERAL (SELECT t.id, t.idx FROM record_types t
                   WHERE t.channel_id = c.channel_id AND t.type = of_type AND t.id > after_id
                   ORDER BY t.id LIMIT at_most) t ON true
    CROSS JOIN LATERAL (
      SELECT o.idx, o.id, o.type, o.owner, o.data, o.extra, o.salt,
             coalesce(o.data_hash, content_hash(o.salt, o.data, o.extra)) AS data_hash, o.leaf_hash, o.transaction_id,
             o.at_ms, NULL::bigint AS archived_from, NULL::bigint AS archived_until, o.salt IS NULL AS erased
        FROM records o WHERE o.channel_id = c.channel_id AND o.idx = t.idx
      UNION ALL
      SELECT a.idx, a.id, a.type, NULL, NULL, NULL, NULL, NULL, a.leaf_hash, a.transaction_id, NULL, a.first_index,
             a.until_index, EXISTS (SELECT 1 FROM erasures e WHERE e.channel_id = c.channel_id AND e.idx = a.idx)
        FROM archived_record(c.channel_id, t.idx) a
      OFFSET 0) r
   WHERE c.channel = of_channel AND permitted(of_channel, 'read')
   ORDER BY r.id
$$;

-- Ids and transactions of records by index, for a view that only stores where a unit was written.
CREATE FUNCTION receipts(of_channel text, at_indexes bigint[]) RETURNS TABLE (idx bigint, id text, transaction_id text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = ledger, pg_temp SET jit = off AS $$
  SELECT r.idx, r.id, encode(r.transaction_id, 'hex')
    FROM channels c JOIN records r ON r.channel_id = c.channel_id
   WHERE c.channel = of_channel AND permitted(of_channel, 'append', 'read') AND r.idx = ANY (at_indexes)
  UNION ALL
  SELECT a.idx, a.id, encode(a.transaction_id, 'hex')
    FROM channels c JOIN archives u ON u.channel_id = c.channel_id
         JOIN LATERAL (SELECT DISTINCT w.idx FROM unnest(at_indexes) w (idx) WHERE w.idx < u.upto) w ON true
         CROSS JOIN LATERAL archived_record(c.channel_id, w.idx) a
   WHERE c.channel = of_channel AND permitted(of_channel, 'append', 'read')
$$;

-- The receipts of runs of records that follow one another: a row for each transaction of a run, in order.
CREATE FUNCTION run_receipts(of_channel text, from_indexes bigint[], counts integer[])
RETURNS TABLE (run bigint, ids json, transaction_id text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = ledger, pg_temp SET enable_seqscan = off SET jit = off AS $$
  SELECT w.run, json_agg(r.id ORDER BY r.idx), encode(r.transaction_id, 'hex')
    FROM channels c
         CROSS JOIN unnest(from_indexes, counts) WITH ORDINALITY w (first_index, count, run)
         CROSS JOIN LATERAL (
           SELECT o.idx, o.id, o.transaction_id FROM records o
            WHERE o.channel_id = c.channel_id AND o.idx >= w.first_index AND o.idx < w.first_index + w.count
           UNION ALL
           SELECT a.idx, a.id, a.transaction_id
             FROM archives u
                  CROSS JOIN LATERAL generate_series(w.first_index, least(w.first_index + w.count, u.upto) - 1) g (idx)
                  CROSS JOIN LATERAL archived_record(c.channel_id, g.idx) a
            WHERE u.channel_id = c.channel_id) r
   WHERE c.channel = of_channel AND permitted(of_channel, 'append', 'read')
   GROUP BY w.run, r.transaction_id ORDER BY w.run, min(r.idx)
$$;

-- Those of the channels in which an id is entered and that the caller may read.
CREATE FUNCTION channels_of_id(of_id text, of_channels text[]) RETURNS TABLE (channel text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = ledger, pg_temp SET enable_seqscan = off SET jit = off AS $$
  SELECT f.channel
    FROM (SELECT c.channel
            FROM unnest(of_channels) w (channel)
                 JOIN channels c ON c.channel = w.channel
                 JOIN known_ids i ON i.hash = hashtextextended(of_id, c.channel_id) AND i.channel_id = c.channel_id
                                 AND i.id = of_id
          OFFSET 0) f
   WHERE has_right(f.channel, 'read')
$$;

-- What was written from an index on, in order, without content: at most so many records. Archived ones have no time.
CREATE FUNCTION commits(of_channel text, from_index bigint, at_most integer)
RETURNS TABLE (idx bigint, id text, type text, transaction_id text, at_ms bigint)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = ledger, pg_temp SET enable_seqscan = off SET jit = off AS $$
  SELECT w.idx, w.id, w.type, encode(w.transaction_id, 'hex'), w.at_ms
    FROM channels c
    CROSS JOIN LATERAL (
      SELECT r.idx, r.id, r.type, r.transaction_id, r.at_ms
        FROM records r
       WHERE r.channel_id = c.channel_id AND r.idx >= from_index AND r.idx < from_index + at_most
      UNION ALL
      SELECT a.first_index + u.ordinal - 1, u.id, u.type,
             substring(a.transactions FROM (u.ordinal - 1)::integer * 32 + 1 FOR 32), NULL
        FROM archived a CROSS JOIN LATERAL unnest(a.ids, a.types) WITH ORDINALITY u (id, type, ordinal)
       WHERE a.channel_id = c.channel_id AND a.first_index < from_index + at_most
         AND a.first_index >= coalesce(stretch_of(c.channel_id, from_index), from_index)
         AND a.first_index + u.ordinal - 1 >= from_index AND a.first_index + u.ordinal - 1 < from_index + at_most
      OFFSET 0) w
   WHERE c.channel = of_channel AND permitted(of_channel, 'read')
   ORDER BY w.idx
$$;

-- The times of the record at and of the one before an index of each of these channels, where the caller may read them.
-- Archived records have none.
CREATE FUNCTION times(of_channels text[], at_indexes bigint[]) RETURNS TABLE (channel text, idx bigint, at_ms bigint)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = ledger, pg_temp SET enable_seqscan = off SET jit = off AS $$
  SELECT c.channel, r.idx, r.at_ms
    FROM unnest(of_channels, at_indexes) w (channel, idx)
    JOIN channels c ON c.channel = w.channel
    CROSS JOIN LATERAL (SELECT o.idx, o.at_ms FROM records o
                         WHERE o.channel_id = c.channel_id AND o.idx BETWEEN w.idx - 1 AND w.idx OFFSET 0) r
   WHERE has_right(c.channel, 'read')
$$;

-- The index of the record with exactly this id.
CREATE FUNCTION id_place(of_channel text, of_id text) RETURNS bigint
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = ledger, pg_temp SET enable_seqscan = off SET jit = off AS $$
  SELECT i.idx
    FROM channels c JOIN known_ids i ON i.hash = hashtextextended(of_id, c.channel_id) AND i.channel_id = c.channel_id
                                    AND i.id = of_id
   WHERE c.channel = of_channel AND permitted(of_channel, 'read')
$$;

-- When the records at these indexes were written. Of an archived one, the time of the last record of its stretch, with
-- that index.
CREATE FUNCTION written_at(of_channel text, at_indexes bigint[]) RETURNS TABLE (idx bigint, at_ms bigint)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = ledger, pg_temp SET enable_seqscan = off SET jit = off AS $$
  SELECT t.idx, t.at_ms
    FROM channels c
    CROSS JOIN unnest(at_indexes) w (idx)
    CROSS JOIN LATERAL (
      SELECT r.idx, r.at_ms FROM records r WHERE r.channel_id = c.channel_id AND r.idx = w.idx
      UNION ALL
      SELECT a.until_index - 1, a.last_at_ms FROM archived a
       WHERE a.channel_id = c.channel_id AND a.first_index = stretch_of(c.channel_id, w.idx)
      OFFSET 0) t
   WHERE c.channel = of_channel AND permitted(of_channel, 'read')
$$;

-- The first 8 bytes of a hash, as a number.
CREATE FUNCTION beginning_of(hash bytea) RETURNS bigint LANGUAGE sql IMMUTABLE
RETURN ('x' || encode(substring(hash FROM 1 FOR 8), 'hex'))::bit(64)::bigint;

-- Extends leaf_places towards the newest checkpoint of a log by so many leaves at most. Returns whether it has reached
-- it.
CREATE FUNCTION index_leaves(of_log text, at_most integer) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = ledger, pg_temp SET enable_seqscan = off SET jit = off AS $$
DECLARE
  tree     integer;
  signed   bigint;
  reached  bigint;
  reaching bigint;
BEGIN
  PERFORM permitted(split_part(of_log, '/', 1), 'read');
  SELECT l.tree_id, k.size INTO tree, signed
    FROM logs l JOIN checkpoints k ON k.channel_id = l.tree_id WHERE l.log = of_log;
  IF NOT FOUND THEN
    RETURN true;
  END IF;
  INSERT INTO leaf_places_upto (tree_id, upto) VALUES (tree, 0) ON CONFLICT DO NOTHING;
  SELECT upto INTO reached FROM leaf_places_upto WHERE tree_id = tree FOR UPDATE;
  reaching := least(signed, reached + at_most);
  IF reached < reaching THEN
    INSERT INTO leaf_places (tree_id, beginning, leaf)
      SELECT tree, beginning_of(substring(t.hashes FROM (l.leaf & 255)::integer * 32 + 1 FOR 32)), l.leaf
        FROM generate_series(reached, reaching - 1) l (leaf)
             JOIN tiles t ON t.channel_id = tree AND t.level = 0 AND t.tile = l.leaf >> 8
      ON CONFLICT DO NOTHING;
    UPDATE leaf_places_upto SET upto = reaching WHERE tree_id = tree;
  END IF;
  RETURN reaching >= signed;
END $$;

-- The first leaf of a log with this hash, of those in leaf_places.
CREATE FUNCTION leaf_place(of_log text, of_hash bytea) RETURNS bigint
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = ledger, pg_temp SET enable_seqscan = off SET jit = off AS $$
  SELECT p.leaf
    FROM logs l
    JOIN leaf_places p ON p.tree_id = l.tree_id AND p.beginning = beginning_of(of_hash)
    JOIN tiles t ON t.channel_id = l.tree_id AND t.level = 0 AND t.tile = p.leaf >> 8
   WHERE l.log = of_log AND permitted(split_part(of_log, '/', 1), 'read')
     AND substring(t.hashes FROM (p.leaf & 255)::integer * 32 + 1 FOR 32) = of_hash
   ORDER BY p.leaf LIMIT 1
$$;

-- How far each of these channels is archived, where the caller may audit it.
CREATE FUNCTION archived_channels(of_channels text[]) RETURNS TABLE (channel text, archived bigint)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = ledger, pg_temp SET enable_seqscan = off SET jit = off AS $$
  SELECT c.channel, coalesce((SELECT u.upto FROM archives u WHERE u.channel_id = c.channel_id), 0)
    FROM unnest(of_channels) w (channel) JOIN channels c ON c.channel = w.channel
   WHERE has_right(c.channel, 'audit')
$$;

-- Channels after a name, in code point order, in which the caller has any right.
CREATE FUNCTION channels(after_channel text, at_most integer)
RETURNS TABLE (channel text, size bigint, integrated bigint)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = ledger, pg_temp SET enable_sort = off SET jit = off AS $$
  SELECT s.channel, s.size, s.integrated FROM seen_channels s
   WHERE s.channel COLLATE "C" > after_channel ORDER BY s.channel COLLATE "C" LIMIT at_most
$$;

-- The channel of this name, if the caller has any right in it.
CREATE FUNCTION channel(of_channel text) RETURNS TABLE (channel text, size bigint, integrated bigint)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = ledger, pg_temp SET jit = off AS $$
  SELECT s.channel, s.size, s.integrated FROM seen_channels s WHERE s.channel = of_channel
$$;

-- Tree and integration. Logs are named: `acme.main`, `acme.main/e1`.

-- One integrator at a time per log, for the length of its transaction (a session lock would not work with PgBouncer).
-- The edge is the partial tile of every level; leaves are the concatenated leaf hashes after the last checkpoint. No
-- row for an ended log.
CREATE FUNCTION integrate_begin(of_log text, at_most integer)
RETURNS TABLE (head bigint, checkpoint text, integrated bigint, levels smallint[], tiles bigint[], edge bytea[],
               first_leaf bigint, last_leaf bigint, leaf_count bigint, leaves bytea)
-- It is called for each log. A custom plan excludes partitions that it does not need, so it looks cheaper than the
-- generic one, and would be made for every log: nearly half of the call.
LANGUAGE plpgsql SECURITY DEFINER SET search_path = ledger, pg_temp
  SET jit = off SET plan_cache_mode = force_generic_plan SET enable_seqscan = off AS $$
DECLARE
  ours logs%ROWTYPE;
BEGIN
  PERFORM permitted(split_part(of_log, '/', 1), 'integrate');
  SELECT * INTO ours FROM logs l WHERE l.log = of_log;
  IF NOT FOUND THEN
    RETURN;
  END IF;
  -- By a lock that no other role can take: every role of the database can take an advisory one, so that decides only
  -- where there is no row yet.
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
    CROSS JOIN LATERAL (SELECT e.level, e.tile, e.hashes FROM tiles e
                         WHERE e.channel_id = ours.tree_id AND e.level = w.level AND e.tile = w.tile OFFSET 0) t;
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

-- Tiles and checkpoints of many logs. new_log is the position in of_logs of each tile's log, from 1.
CREATE FUNCTION integrate_commit(
  of_logs text[], new_sizes bigint[], new_roots bytea[], new_notes text[],
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

-- Nothing more is signed for a log that ended with a declared loss.
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

-- The newest signed checkpoint. For an ended log: the one that its surviving records are proved against.
CREATE FUNCTION checkpoint(of_log text) RETURNS text
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = ledger, pg_temp SET jit = off AS $$
  SELECT k.note FROM logs l JOIN checkpoints k ON k.channel_id = l.tree_id WHERE l.log = of_log
$$;

-- Looks each tile up by its primary key, regardless of table statistics.
CREATE FUNCTION tiles(of_log text, at_levels smallint[], at_tiles bigint[]) RETURNS TABLE (ordinal bigint, hashes bytea)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = ledger, pg_temp SET jit = off
  SET enable_seqscan = off SET plan_cache_mode = force_generic_plan AS $$
  SELECT w.ordinal, t.hashes
    FROM logs l
    CROSS JOIN unnest(at_levels, at_tiles) WITH ORDINALITY w (level, tile, ordinal)
    CROSS JOIN LATERAL (
      SELECT t.hashes FROM tiles t WHERE t.channel_id = l.tree_id AND t.level = w.level AND t.tile = w.tile LIMIT 1) t
   WHERE l.log = of_log
   ORDER BY w.ordinal
$$;

-- The current log of each of these channels: its size, its newest checkpoint, and the declaration it begins with.
CREATE FUNCTION heads(of_channels text[])
RETURNS TABLE (channel text, log text, size bigint, checkpoint text, statement text, leaf_hash bytea)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = ledger, pg_temp SET jit = off AS $$
  SELECT l.channel, l.log, l.head, k.note, e.statement, e.leaf_hash
    FROM logs l LEFT JOIN checkpoints k ON k.channel_id = l.tree_id
         LEFT JOIN epochs e ON e.tree_id = l.tree_id AND l.epoch > 0
   WHERE l.channel = ANY (of_channels) AND NOT l.is_ended AND permitted(l.channel, 'integrate')
$$;

-- Entries of a channel as bundled by C2SP tlog-tiles: the preimages of the leaves of its records in a range of indexes,
-- in order, each preceded by its length in 16 bits. `archived`: the number of records at the beginning of the channel
-- whose entries are built from the files of the archive; none of them is in `entries`. A call hashes 16 MiB of content,
-- a larger record alone: the caller asks again for what follows.
CREATE FUNCTION entries(of_channel text, from_index bigint, until_index bigint)
RETURNS TABLE (archived bigint, entries bytea)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = ledger, pg_temp SET enable_seqscan = off SET jit = off AS $$
  SELECT coalesce((SELECT u.upto FROM archives u WHERE u.channel_id = c.channel_id), 0),
         (SELECT string_agg(substring(int4send(octet_length(l.leaf)) FROM 3) || l.leaf, ''::bytea ORDER BY l.idx)
            FROM (SELECT r.idx, leaf(r.at_ms, c.channel_json,
                                     coalesce(r.data_hash, content_hash(r.salt, r.data, r.extra)), r.id, c.network_json,
                                     r.owner, r.transaction_id, r.type) AS leaf
                    FROM (SELECT o.*, row_number() OVER w AS place,
                                 sum(CASE WHEN o.data_hash IS NULL
                                       THEN coalesce(octet_length(o.data), 0) + coalesce(octet_length(o.extra), 0) END)
                                   OVER w AS bytes
                            FROM records o
                           WHERE o.channel_id = c.channel_id
                             AND o.idx >= from_index AND o.idx < entries.until_index
                          WINDOW w AS (ORDER BY o.idx)) r
                   WHERE r.place = 1 OR r.bytes IS NULL OR r.bytes <= 16777216) l)
    FROM (SELECT a.* FROM audited_channels a WHERE a.channel = of_channel OFFSET 0) c
   WHERE permitted(of_channel, 'read')
$$;

-- Publication and keys.

-- From now on only published checkpoints are shown. It starts with those shown so far, so no log appears to shrink:
-- nothing newer is signed while the lock is held.
CREATE FUNCTION publish_cosigned() RETURNS void
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
CREATE FUNCTION publish_signed() RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = ledger, pg_temp SET jit = off AS $$
BEGIN
  PERFORM permitted_somewhere('integrate');
  IF EXISTS (SELECT 1 FROM published) THEN
    DELETE FROM published;
  END IF;
END $$;

-- Publishes this checkpoint of a log, unless a newer one is published or the tables have no tree for it.
CREATE FUNCTION publish(of_log text, new_size bigint, new_note text, now_short boolean) RETURNS void
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
CREATE FUNCTION unpublished(at_most integer) RETURNS TABLE (log text, note text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = ledger, pg_temp SET jit = off AS $$
  SELECT l.log, k.note
    FROM logs l JOIN checkpoints k ON k.channel_id = l.tree_id LEFT JOIN published p ON p.channel_id = l.tree_id
   WHERE NOT l.is_ended AND has_right(l.channel, 'integrate') AND (p.size IS NULL OR p.size < k.size OR p.is_short)
   ORDER BY random() LIMIT at_most
$$;

-- The published checkpoint of a log, if the tree reaches as far; null if there are witnesses and nothing is published.
CREATE FUNCTION published(of_log text) RETURNS text
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = ledger, pg_temp SET jit = off AS $$
  SELECT CASE WHEN EXISTS (SELECT 1 FROM published w WHERE w.channel_id = 0)
              THEN (SELECT p.note FROM published p WHERE p.channel_id = l.tree_id AND p.size <= k.size)
              ELSE k.note END
    FROM logs l JOIN checkpoints k ON k.channel_id = l.tree_id WHERE l.log = of_log
$$;

CREATE FUNCTION log_keys(of_logs text[]) RETURNS TABLE (log text, note text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = ledger, pg_temp SET jit = off AS $$
  SELECT l.log, k.note FROM logs l JOIN log_keys k ON k.channel_id = l.tree_id WHERE l.log = ANY (of_logs)
$$;

CREATE FUNCTION state_log_keys(of_logs text[], new_notes text[]) RETURNS void
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

-- Halts and declared losses.

-- An append to a channel that lost records would reuse their indexes. Appends do not read halts: they check
-- channels.appenders, which a halt clears under the lock of the head, and open_heads does not fill again. The error
-- code is of the class of outages without a write.
CREATE FUNCTION refuse_lost(of_channels text[]) RETURNS void
LANGUAGE plpgsql STABLE SET search_path = ledger, pg_temp AS $$
DECLARE
  lost text := (SELECT string_agg(c.channel, ' ' ORDER BY c.channel) FROM halts h JOIN channels c USING (channel_id)
                 WHERE c.channel = ANY (of_channels) AND h.losses IS NOT NULL);
BEGIN
  IF lost IS NOT NULL THEN
    RAISE EXCEPTION 'records that were signed for are missing' USING ERRCODE = '08L01', DETAIL = lost;
  END IF;
END $$;

-- Whether the newest of these losses was declared. Null: nothing was lost.
CREATE FUNCTION is_declared(of_channel integer, losses jsonb) RETURNS boolean
LANGUAGE sql STABLE SET search_path = ledger, pg_temp AS $$
  SELECT losses IS NOT NULL AND EXISTS (
    SELECT 1 FROM epochs e CROSS JOIN LATERAL jsonb_array_elements(e.statement::jsonb -> 'lost') l
     WHERE e.channel_id = of_channel AND l ->> 'checkpoint' = losses -> -1 ->> 'checkpoint')
$$;

-- Halts a channel, or updates the reason. A missing channel is created without records, so that no append starts it
-- anew. new_losses null: nothing is known to be lost, and appends continue.
CREATE FUNCTION halt(of_network text, of_channel text, why text, new_losses jsonb, now_ms bigint) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = ledger, pg_temp SET jit = off AS $$
DECLARE
  ours integer;
BEGIN
  PERFORM permitted(of_channel, 'integrate');
  INSERT INTO channels (channel, network) VALUES (of_channel, of_network) ON CONFLICT DO NOTHING;
  SELECT channel_id INTO ours FROM channels WHERE channel = of_channel FOR UPDATE;
  -- Declared since the caller compared: it does not halt the channel again.
  IF is_declared(ours, new_losses) THEN
    RETURN;
  END IF;
  -- A channel that waits for its epoch accepts no records, whatever else is found.
  INSERT INTO halts AS h (channel_id, problem, losses, at_ms) VALUES (ours, why, new_losses, now_ms)
    ON CONFLICT (channel_id) DO UPDATE SET problem = EXCLUDED.problem,
      losses = CASE WHEN EXCLUDED.losses IS NULL AND is_declared(ours, h.losses) THEN h.losses ELSE EXCLUDED.losses END;
  IF new_losses IS NOT NULL THEN
    UPDATE channels SET appenders = '{}' WHERE channel_id = ours AND appenders <> '{}';
  END IF;
END $$;

-- Lifts a halt, and returns whether it did. After a declaration not before its epoch is signed and known to every
-- process: they read epochs once a second, and an append takes two seconds at most.
CREATE FUNCTION resume(of_channel text) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = ledger, pg_temp SET jit = off AS $$
DECLARE
  ours channels%ROWTYPE;
BEGIN
  PERFORM permitted(of_channel, 'integrate');
  SELECT * INTO ours FROM channels WHERE channel = of_channel FOR UPDATE;
  IF EXISTS (SELECT 1 FROM halts h WHERE h.channel_id = ours.channel_id AND is_declared(h.channel_id, h.losses))
     AND NOT EXISTS (SELECT 1 FROM epochs e JOIN checkpoints k ON k.channel_id = e.tree_id
                      WHERE e.channel_id = ours.channel_id AND e.epoch = ours.epoch
                        AND e.declared_at < clock_timestamp() - interval '5 seconds') THEN
    RETURN false;
  END IF;
  DELETE FROM halts WHERE channel_id = ours.channel_id;
  RETURN true;
END $$;

-- The time of the record before an index; null if there is none. For a record in the middle of an archived stretch:
-- that of the last record of an earlier one. A time that is too early counts more records as lost, never fewer.
CREATE FUNCTION written_before(of_channel integer, at_index bigint) RETURNS bigint
LANGUAGE sql STABLE SET search_path = ledger, pg_temp AS $$
  SELECT coalesce(
    (SELECT r.at_ms FROM records r WHERE r.channel_id = of_channel AND r.idx = at_index - 1),
    (SELECT a.last_at_ms FROM archived a
      WHERE a.channel_id = of_channel AND a.until_index <= at_index ORDER BY a.first_index DESC LIMIT 1))
$$;

-- The halts of channels in which the caller has any right. declared: the loss was declared, and the channel resumes
-- once its next epoch is signed. shared_at_ms: the time of the last record that is not lost.
CREATE FUNCTION halts()
RETURNS TABLE (channel text, problem text, losses jsonb, at_ms bigint, declared boolean, shared_at_ms bigint)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = ledger, pg_temp SET jit = off AS $$
  SELECT l.channel, h.problem, h.losses, h.at_ms, is_declared(h.channel_id, h.losses),
         (SELECT written_before(h.channel_id, (o ->> 'lostFrom')::bigint + l.shift)
            FROM jsonb_array_elements(h.losses) o WHERE (o ->> 'epoch')::integer = l.epoch)
    FROM halts h JOIN logs l ON l.channel_id = h.channel_id AND NOT l.is_ended
   WHERE l.channel_id IN (SELECT s.channel_id FROM seen_channels s) ORDER BY l.channel
$$;

-- The current log of each channel, and its signed size. is_declared: the channel waits for this epoch.
CREATE FUNCTION logs() RETURNS TABLE (channel text, log text, size bigint, integrated bigint, is_declared boolean)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = ledger, pg_temp SET jit = off AS $$
  SELECT l.channel, l.log, l.head, coalesce(k.size, 0),
         l.epoch > 0 AND EXISTS (SELECT 1 FROM halts h WHERE h.channel_id = l.channel_id
                                    AND is_declared(h.channel_id, h.losses))
    FROM logs l LEFT JOIN checkpoints k ON k.channel_id = l.tree_id
   WHERE NOT l.is_ended AND l.channel_id IN (SELECT s.channel_id FROM seen_channels s) ORDER BY l.channel
$$;

-- Declares the loss of a halted channel, and opens its next epoch; the channel stays halted. The caller builds the
-- statement, whose member lost must equal that of the halt: this proves that the caller has seen it. Repeated: returns
-- the epoch opened for this loss. Null: nothing is lost, or not this; nothing was done.
CREATE FUNCTION declare_loss(of_channel text, new_statement text, by_actor text, in_request text) RETURNS integer
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
  SELECT 1 + greatest(ours.epoch, max((l ->> 'epoch')::integer)) INTO opened
    FROM jsonb_array_elements(said -> 'lost') l;
  IF (said ->> 'channel', (said ->> 'epoch')::integer) IS DISTINCT FROM (of_channel, opened) THEN
    RAISE EXCEPTION 'the statement is of another epoch than %', opened USING ERRCODE = 'invalid_parameter_value';
  END IF;
  SELECT * INTO ended FROM logs l WHERE l.channel_id = ours.channel_id AND l.epoch = ours.epoch;
  SELECT l INTO part FROM jsonb_array_elements(said -> 'lost') l WHERE (l ->> 'epoch')::integer = ours.epoch;
  -- An integrator that is at work on the log ends first; where it has no checkpoint yet, see integrate_begin.
  PERFORM 1 FROM checkpoints k WHERE k.channel_id = ended.tree_id FOR UPDATE;
  IF NOT FOUND AND NOT pg_try_advisory_xact_lock(hashtextextended('ledger.integrator ' || ended.log, 0)) THEN
    RAISE EXCEPTION 'the log is being signed for' USING ERRCODE = 'serialization_failure';
  END IF;
  -- From now on its records are proved against the newest checkpoint that is kept and that the database continues.
  DELETE FROM checkpoints WHERE channel_id = ended.tree_id;
  IF part ->> 'surviving' IS NOT NULL THEN
    INSERT INTO checkpoints (channel_id, size, root, note)
      VALUES (ended.tree_id, (part ->> 'lostFrom')::bigint,
              decode(split_part(part ->> 'surviving', E'\n', 3), 'base64'), part ->> 'surviving');
  END IF;
  first := greatest(ended.first_index, ended.shift + coalesce((part ->> 'lostFrom')::bigint, 0));
  INSERT INTO epochs (channel_id, epoch, tree_id, first_index, lost_until, kept_at_ms, statement, leaf_hash,
                      declared_by, actor, request_id, declared_at)
    VALUES (ours.channel_id, opened, nextval(pg_get_serial_sequence('ledger.channels', 'channel_id')), first,
            greatest(first, ended.shift + coalesce((part ->> 'lostUntil')::bigint, 0)),
            coalesce(written_before(ours.channel_id, first), 0),
            new_statement, sha256('\x00'::bytea || convert_to(new_statement, 'UTF8')), session_user::text,
            by_actor, in_request, clock_timestamp());
  UPDATE channels SET epoch = opened WHERE channel_id = ours.channel_id;
  RETURN opened;
END $$;

-- The declared losses of these channels, or of all if null, limited to those in which the caller has any right.
-- Processes that state the position of a record have read this within the last second.
CREATE FUNCTION epochs(of_channels text[])
RETURNS TABLE (channel text, epoch integer, first_index bigint, lost_until bigint, kept_at_ms bigint, statement text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = ledger, pg_temp SET jit = off AS $$
  SELECT c.channel, e.epoch, e.first_index, e.lost_until, e.kept_at_ms, e.statement
    FROM epochs e JOIN seen_channels c USING (channel_id)
   WHERE of_channels IS NULL OR c.channel = ANY (of_channels)
   ORDER BY c.channel, e.epoch
$$;

-- Erasure and archive. The right to erase includes archiving: both remove content from the database.

CREATE FUNCTION erasure_hash(e erasures) RETURNS bytea LANGUAGE sql STABLE
RETURN sha256(convert_to(json_build_array((e).channel_id, (e).idx, (e).at_ms, (e).reason, (e).erased_by, (e).actor,
  (e).request_id)::text, 'UTF8'));

-- Removes salt and content; everything hashed into the tree stays, so every proof stays valid. The audit event of the
-- erasure is written here, into a table that no role can access, so there is no erasure without it. The content of an
-- archived record disappears from answers and from create-once immediately; the process that writes the archive then
-- removes it from the file.
CREATE FUNCTION erase(of_channel text, of_id text, for_reason text, now_ms bigint, by_actor text, in_request text)
RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = ledger, pg_temp SET jit = off AS $$
DECLARE
  place record;
  event erasures%ROWTYPE;
BEGIN
  PERFORM permitted(of_channel, 'erase');
  IF coalesce(for_reason, '') = '' THEN
    RAISE EXCEPTION 'an erasure has a reason' USING ERRCODE = 'null_value_not_allowed';
  END IF;
  SELECT c.channel_id, i.idx INTO place
    FROM channels c
    JOIN known_ids i ON i.hash = hashtextextended(of_id, c.channel_id) AND i.channel_id = c.channel_id AND i.id = of_id
   WHERE c.channel = of_channel;
  IF NOT FOUND THEN
    RETURN false;
  END IF;
  event := (place.channel_id, place.idx, for_reason, now_ms, NULL, session_user::text, by_actor, in_request);
  event.row_hash := erasure_hash(event);
  UPDATE records
     SET data_hash = coalesce(data_hash, content_hash(salt, data, extra)), data = NULL, extra = NULL, salt = NULL
   WHERE channel_id = place.channel_id AND idx = place.idx AND salt IS NOT NULL;
  IF FOUND THEN
    INSERT INTO erasures SELECT event.*;
    RETURN true;
  END IF;
  UPDATE archived a
     SET contents = overlay(contents PLACING decode(repeat('00', 32), 'hex')
                            FROM (place.idx - first_index)::integer * 32 + 1)
   WHERE a.channel_id = place.channel_id AND a.first_index = stretch_of(place.channel_id, place.idx);
  IF FOUND THEN
    INSERT INTO erasures SELECT event.* ON CONFLICT DO NOTHING;
    -- Again where it was erased before: a file that was brought back from a copy may hold the content.
    INSERT INTO unwritten_erasures (channel_id, idx) VALUES (place.channel_id, place.idx) ON CONFLICT DO NOTHING;
  END IF;
  RETURN true;
END $$;

-- The hash that create-once compares for an archived record. The salt of the stretch prevents looking up guessed
-- contents in other stretches; an erasure replaces the hash by zeros, which no content has.
CREATE FUNCTION archived_content(salt bytea, idx bigint, type text, owner text, data text, extra text) RETURNS bytea
LANGUAGE sql STABLE
RETURN sha256(salt || int8send(idx) || convert_to('[' || to_json(type)::text || ','
  || coalesce(to_json(owner)::text, 'null') || ',' || data || ',' || coalesce(extra, 'null') || ']', 'UTF8'));

-- Whether the record at an index, in table or file, holds this content, as compared by create-once. False once it was
-- erased.
CREATE FUNCTION holds_content(
  of_channel integer, at_index bigint, of_type text, of_owner text, of_data text, of_extra text) RETURNS boolean
LANGUAGE plpgsql STABLE SET search_path = ledger, pg_temp AS $$
DECLARE
  same boolean;
BEGIN
  SELECT o.type = of_type AND o.owner IS NOT DISTINCT FROM of_owner AND o.data = of_data
         AND o.extra IS NOT DISTINCT FROM of_extra
    INTO same FROM records o WHERE o.channel_id = of_channel AND o.idx = at_index;
  IF NOT FOUND THEN
    SELECT substring(a.contents FROM (at_index - a.first_index)::integer * 32 + 1 FOR 32)
           = archived_content(a.salt, at_index, of_type, of_owner, of_data, of_extra)
      INTO same FROM archived a
     WHERE a.channel_id = of_channel AND a.first_index = stretch_of(of_channel, at_index);
  END IF;
  RETURN coalesce(same, false);
END $$;

-- Null if the channel may be archived. A surface that owns a channel reads its records back without any files.
CREATE FUNCTION archive_refusal(of_channel text) RETURNS text
LANGUAGE sql STABLE SET search_path = ledger, pg_temp AS $$
  SELECT coalesce(
    (SELECT format('channel %s is owned by %s, which reads its records without the files of an archive', of_channel,
                   min(g.surface))
       FROM grants g WHERE g.channel = of_channel AND g.owns HAVING count(*) > 0),
    (SELECT format('channel %s is halted: %s', of_channel, h.problem)
       FROM halts h JOIN channels c USING (channel_id) WHERE c.channel = of_channel),
    (SELECT format('channel %s went on in epoch %s after a loss, and an archive is of one log', of_channel, c.epoch)
       FROM channels c WHERE c.channel = of_channel AND c.epoch > 0))
$$;

-- The archive state of a channel. Out: the number of records, of signed and of archived ones; the index from which on
-- they are younger than a time; and the reason why the channel must not be archived, as a sentence.
CREATE FUNCTION archive_state(of_channel text, before_ms bigint)
RETURNS TABLE (network text, size bigint, signed bigint, archived bigint, younger_from bigint, refused text)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = ledger, pg_temp SET jit = off AS $$
#variable_conflict use_column
DECLARE
  ours   channels%ROWTYPE;
  middle bigint;
  at     bigint;
  above  bigint;
BEGIN
  PERFORM permitted(of_channel, 'erase');
  SELECT * INTO ours FROM channels c WHERE c.channel = of_channel;
  IF NOT FOUND THEN
    RETURN;
  END IF;
  network := ours.network;
  size := ours.size;
  signed := coalesce((SELECT k.size FROM checkpoints k WHERE k.channel_id = ours.channel_id), 0);
  archived := coalesce((SELECT u.upto FROM archives u WHERE u.channel_id = ours.channel_id), 0);
  refused := archive_refusal(of_channel);
  younger_from := archived;
  above := signed;
  WHILE younger_from < above LOOP
    middle := (younger_from + above) / 2;
    SELECT r.at_ms INTO at FROM records r WHERE r.channel_id = ours.channel_id AND r.idx = middle;
    IF at < before_ms THEN
      younger_from := middle + 1;
    ELSE
      above := middle;
    END IF;
  END LOOP;
  RETURN NEXT;
END $$;

-- Rows to be written to a file, up to a total content size, at least one.
CREATE FUNCTION archive_rows(of_channel text, from_index bigint, until_index bigint, max_bytes bigint)
RETURNS TABLE (idx bigint, id text, type text, owner text, data text, extra text, salt bytea, data_hash bytea,
               transaction_id bytea, at_ms bigint)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = ledger, pg_temp SET enable_seqscan = off SET jit = off AS $$
  SELECT r.idx, r.id, r.type, r.owner, r.data, r.extra, r.salt,
         coalesce(r.data_hash, content_hash(r.salt, r.data, r.extra)), r.transaction_id, r.at_ms
    FROM (SELECT o.*, sum(coalesce(octet_length(o.data), 0) + coalesce(octet_length(o.extra), 0))
                        OVER (ORDER BY o.idx) AS bytes
            FROM channels c JOIN records o ON o.channel_id = c.channel_id
           WHERE c.channel = of_channel AND permitted(of_channel, 'read')
             AND o.idx >= from_index AND o.idx < archive_rows.until_index) r
   WHERE r.bytes <= max_bytes OR r.idx = from_index ORDER BY r.idx
$$;

-- Locks the archive of a channel for writing files, one process at a time, until the end of its transaction. Out: how
-- far it reaches, and the erased records of the stretch that begins at an index (null: no such stretch).
CREATE FUNCTION archive_lock(of_channel text, at_stretch bigint)
RETURNS TABLE (archived bigint, until_index bigint, erased bigint[])
LANGUAGE plpgsql SECURITY DEFINER SET search_path = ledger, pg_temp SET jit = off AS $$
#variable_conflict use_column
DECLARE
  ours integer := (SELECT channel_id FROM channels WHERE channel = of_channel);
BEGIN
  PERFORM permitted(of_channel, 'erase');
  IF ours IS NULL THEN
    RETURN;
  END IF;
  INSERT INTO archives (channel_id) VALUES (ours) ON CONFLICT DO NOTHING;
  PERFORM 1 FROM archives u WHERE u.channel_id = ours FOR UPDATE;
  SELECT u.upto INTO archived FROM archives u WHERE u.channel_id = ours;
  SELECT a.until_index INTO until_index FROM archived a WHERE a.channel_id = ours AND a.first_index = at_stretch;
  erased := ARRAY(SELECT e.idx FROM erasures e
                   WHERE e.channel_id = ours AND e.idx >= at_stretch AND e.idx < until_index ORDER BY e.idx);
  RETURN NEXT;
END $$;

-- Removes records from the table that are in a file which was read back. without_content: those erased in the file; if
-- that has changed, nothing is done (serialization_failure), and the file must be written again.
CREATE FUNCTION archive_records(
  of_channel text, from_index bigint, new_until bigint, new_salt bytea, without_content bigint[]) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = ledger, pg_temp SET enable_seqscan = off SET jit = off AS $$
DECLARE
  ours    integer := (SELECT channel_id FROM channels WHERE channel = of_channel);
  refusal text;
  counted bigint;
BEGIN
  PERFORM permitted(of_channel, 'erase');
  refusal := archive_refusal(of_channel);
  IF refusal IS NOT NULL THEN
    RAISE EXCEPTION '%', refusal USING ERRCODE = 'object_not_in_prerequisite_state';
  END IF;
  UPDATE archives SET upto = new_until WHERE channel_id = ours AND upto = from_index;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'the archive does not end at record %', from_index USING ERRCODE = 'serialization_failure';
  END IF;
  IF (from_index < new_until AND new_until <= from_index + 1024 AND (from_index | new_until) & 255 = 0
      AND octet_length(new_salt) = 32
      AND new_until <= (SELECT k.size FROM checkpoints k WHERE k.channel_id = ours)) IS NOT TRUE THEN
    RAISE EXCEPTION 'a stretch is of whole tiles, at most 1,024 records, all of them signed for'
      USING ERRCODE = 'invalid_parameter_value';
  END IF;
  PERFORM 1 FROM records WHERE channel_id = ours AND idx >= from_index AND idx < new_until ORDER BY idx FOR UPDATE;
  GET DIAGNOSTICS counted = ROW_COUNT;
  IF counted <> new_until - from_index THEN
    RAISE EXCEPTION 'records % to % are not all there', from_index, new_until - 1 USING ERRCODE = 'data_corrupted';
  END IF;
  IF ARRAY(SELECT idx FROM records WHERE channel_id = ours AND idx >= from_index AND idx < new_until AND salt IS NULL
            ORDER BY idx) <> without_content THEN
    RAISE EXCEPTION 'a record was erased meanwhile' USING ERRCODE = 'serialization_failure';
  END IF;
  INSERT INTO archived (channel_id, first_index, until_index, ids, types, transactions, salt, contents, last_at_ms)
    SELECT ours, from_index, new_until, array_agg(r.id ORDER BY r.idx), array_agg(r.type ORDER BY r.idx),
           string_agg(r.transaction_id, ''::bytea ORDER BY r.idx), new_salt,
           string_agg(CASE WHEN r.salt IS NULL THEN decode(repeat('00', 32), 'hex')
                           ELSE archived_content(new_salt, r.idx, r.type, r.owner, r.data, r.extra) END,
                      ''::bytea ORDER BY r.idx), max(r.at_ms) FILTER (WHERE r.idx = new_until - 1)
      FROM records r WHERE r.channel_id = ours AND r.idx >= from_index AND r.idx < new_until;
  DELETE FROM records WHERE channel_id = ours AND idx >= from_index AND idx < new_until;
END $$;

-- Stretches, in channels that the caller may erase in, whose file still holds erased content.
CREATE FUNCTION unwritten_erasures() RETURNS TABLE (channel text, first_index bigint)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = ledger, pg_temp SET jit = off AS $$
  SELECT DISTINCT c.channel, stretch_of(c.channel_id, w.idx)
    FROM unwritten_erasures w JOIN channels c USING (channel_id) WHERE has_right(c.channel, 'erase') ORDER BY 1, 2
$$;

-- The file of the stretch no longer holds the content of these records, which were erased when it was locked.
CREATE FUNCTION erasures_written(of_channel text, written bigint[]) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = ledger, pg_temp SET jit = off AS $$
  DELETE FROM unwritten_erasures
   WHERE channel_id = (SELECT channel_id FROM channels WHERE channel = of_channel) AND idx = ANY (written)
     AND permitted(of_channel, 'erase')
$$;

-- Erased records in the table in a range of indexes, with their leaf hashes. A file of an archive may hold copies of
-- them, if an attempt ended between writing the file and removing the rows.
CREATE FUNCTION erased_rows(of_channel text, from_index bigint, until_index bigint)
RETURNS TABLE (idx bigint, leaf_hash bytea)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = ledger, pg_temp SET enable_seqscan = off SET jit = off AS $$
  SELECT r.idx, r.leaf_hash
    FROM channels c
    JOIN erasures e ON e.channel_id = c.channel_id AND e.idx >= from_index AND e.idx < erased_rows.until_index
    JOIN records r ON r.channel_id = c.channel_id AND r.idx = e.idx
   WHERE c.channel = of_channel AND permitted(of_channel, 'erase') AND r.salt IS NULL ORDER BY r.idx
$$;

-- Audit. It recomputes every hash from the columns it covers. Hashing in the database avoids transferring a million
-- contents and blocking the service's event loop.

-- RFC 6962, section 2.1.
CREATE FUNCTION leaf_hash(at_ms bigint, channel text, data_hash bytea, id text, network text, owner text,
                          transaction_id bytea, type text) RETURNS bytea LANGUAGE sql STABLE
RETURN sha256('\x00'::bytea || leaf(at_ms, channel, data_hash, id, network, owner, transaction_id, type));

-- See append-statement.ts.
CREATE FUNCTION transaction_hash(nonce bytea, claim bytea, fingerprint text, channel text, note text, ids text[])
RETURNS bytea LANGUAGE sql STABLE
RETURN sha256(convert_to(format('["sealgate.transaction.v1","%s","%s",%s,%s,%s,%s]', encode(nonce, 'hex'),
  encode(claim, 'hex'), to_json(fingerprint), to_json(channel), to_json(note), array_to_json(ids)), 'UTF8'));

-- Counts: rows beyond the head, ids without a record, rows of no channel, edited erasures. Tiles and checkpoints of an
-- epoch belong to a channel, too.
CREATE FUNCTION audit_counts(of_channel text)
RETURNS TABLE (size bigint, beyond_head bigint, stray_rows bigint, edited_erasure bigint)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = ledger, pg_temp SET jit = off AS $$
  SELECT c.size,
         (SELECT min(r.idx) FROM records r WHERE r.channel_id = c.channel_id AND r.idx >= c.size),
         (SELECT count(*) FROM (
            SELECT channel_id FROM claims UNION ALL SELECT channel_id FROM tiles UNION ALL
            SELECT channel_id FROM checkpoints UNION ALL SELECT channel_id FROM erasures UNION ALL
            SELECT channel_id FROM archived UNION ALL SELECT channel_id FROM archives UNION ALL
            SELECT channel_id FROM unwritten_erasures) s
           WHERE NOT EXISTS (SELECT 1 FROM channels o WHERE o.channel_id = s.channel_id)
             AND NOT EXISTS (SELECT 1 FROM epochs e WHERE e.tree_id = s.channel_id)),
         (SELECT min(e.idx) FROM erasures e
           WHERE e.channel_id = c.channel_id
             AND (e.row_hash <> erasure_hash(e)
                  OR NOT EXISTS (SELECT 1 FROM records r
                                  WHERE r.channel_id = e.channel_id AND r.idx = e.idx AND r.salt IS NULL)
                     AND stretch_of(e.channel_id, e.idx) IS NULL))
    FROM channels c
   WHERE c.channel = of_channel AND permitted(of_channel, 'audit')
$$;

-- The logs of a channel, oldest first, with their records from first_index up to, but not including, until_index.
-- is_edited: the columns of the row do not match its statement.
CREATE FUNCTION audit_logs(of_channel text)
RETURNS TABLE (log text, epoch integer, first_index bigint, until_index bigint, checkpoint_size bigint,
               checkpoint_root bytea, checkpoint text, tile_count bigint, statement text, leaf_hash bytea,
               is_edited boolean)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = ledger, pg_temp SET jit = off AS $$
  SELECT l.log, l.epoch, l.first_index, l.head + l.shift, k.size, k.root, k.note,
         (SELECT count(*) FROM tiles t WHERE t.channel_id = l.tree_id), e.statement, e.leaf_hash,
         (SELECT c.epoch FROM channels c WHERE c.channel_id = l.channel_id)
           <> (SELECT coalesce(max(n.epoch), 0) FROM epochs n WHERE n.channel_id = l.channel_id)
         OR e.epoch IS NOT NULL AND NOT EXISTS (
           SELECT 1 FROM logs p
             LEFT JOIN LATERAL jsonb_array_elements(e.statement::jsonb -> 'lost') o
               ON (o ->> 'epoch')::integer = p.epoch
             CROSS JOIN LATERAL (
               SELECT greatest(p.first_index, p.shift + coalesce((o ->> 'lostFrom')::bigint, 0)) AS first) f
            WHERE p.channel_id = l.channel_id
              AND p.epoch = (SELECT max(b.epoch) FROM logs b WHERE b.channel_id = l.channel_id AND b.epoch < l.epoch)
              AND e.first_index = f.first
              AND e.lost_until = greatest(f.first, p.shift + coalesce((o ->> 'lostUntil')::bigint, 0))
              AND e.kept_at_ms = coalesce(written_before(l.channel_id, f.first), 0)
              AND e.actor = e.statement::jsonb ->> 'actor')
    FROM logs l LEFT JOIN checkpoints k ON k.channel_id = l.tree_id
         LEFT JOIN epochs e ON e.tree_id = l.tree_id AND l.epoch > 0
   WHERE l.channel = of_channel AND permitted(of_channel, 'audit') ORDER BY l.epoch
$$;

-- A stretch of the log: the number of rows, the first row that does not match its leaf, and the leaf hashes of all in
-- order, from which the auditor builds the tree.
CREATE FUNCTION audit_records(of_channel text, from_index bigint, until_index bigint)
RETURNS TABLE (row_count bigint, first_bad bigint, leaf_hashes bytea)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = ledger, pg_temp SET enable_seqscan = off SET jit = off AS $$
  SELECT count(*), min(s.idx) FILTER (WHERE s.is_bad), string_agg(s.leaf_hash, ''::bytea)
    FROM (SELECT r.idx, r.leaf_hash,
                 (CASE WHEN r.salt IS NULL OR r.data IS NULL
                    THEN num_nonnulls(r.salt, r.data, r.extra) > 0
                         OR NOT EXISTS (SELECT 1 FROM erasures e WHERE e.channel_id = r.channel_id AND e.idx = r.idx)
                    ELSE r.data_hash IS NOT NULL AND content_hash(r.salt, r.data, r.extra) <> r.data_hash END)
                 OR leaf_hash(r.at_ms, c.channel_json, coalesce(r.data_hash, content_hash(r.salt, r.data, r.extra)),
                              r.id, c.network_json, r.owner, r.transaction_id, r.type)
                    IS DISTINCT FROM r.leaf_hash AS is_bad
            FROM (SELECT a.* FROM audited_channels a WHERE a.channel = of_channel OFFSET 0) c
            JOIN records r ON r.channel_id = c.channel_id AND r.idx >= from_index AND r.idx < audit_records.until_index
           WHERE permitted(of_channel, 'audit') ORDER BY r.channel_id, r.idx) s
$$;

-- The record at an index and the problem of its row: null if the row matches its leaf.
CREATE FUNCTION audit_record(of_channel text, at_index bigint) RETURNS TABLE (id text, problem text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = ledger, pg_temp SET jit = off AS $$
  SELECT r.id,
         CASE WHEN (r.salt IS NULL OR r.data IS NULL) AND NOT EXISTS (
                     SELECT 1 FROM erasures e WHERE e.channel_id = r.channel_id AND e.idx = r.idx)
                THEN 'its content is missing, and no erasure says so'
              WHEN (r.salt IS NULL OR r.data IS NULL) AND num_nonnulls(r.salt, r.data, r.extra) > 0
                THEN 'content and erasure do not agree'
              WHEN content_hash(r.salt, r.data, r.extra) <> r.data_hash THEN 'its content is not what was hashed'
              WHEN leaf_hash(r.at_ms, c.channel_json, coalesce(r.data_hash, content_hash(r.salt, r.data, r.extra)),
                             r.id, c.network_json, r.owner, r.transaction_id, r.type)
                   IS DISTINCT FROM r.leaf_hash THEN 'it is not what its leaf was made of' END
    FROM (SELECT a.* FROM audited_channels a WHERE a.channel = of_channel OFFSET 0) c
         JOIN records r ON r.channel_id = c.channel_id AND r.idx = at_index
   WHERE permitted(of_channel, 'audit')
$$;

-- The first index of a stretch that has no row.
CREATE FUNCTION audit_missing(of_channel text, from_index bigint, until_index bigint) RETURNS bigint
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = ledger, pg_temp SET jit = off AS $$
  SELECT min(g.idx) FROM generate_series(from_index, until_index - 1) g (idx)
   WHERE permitted(of_channel, 'audit')
     AND NOT EXISTS (SELECT 1 FROM channels c JOIN records r ON r.channel_id = c.channel_id AND r.idx = g.idx
                      WHERE c.channel = of_channel)
$$;

-- The number of ids of a channel, and the first record whose id is not entered for its index. Sums of hashes under a
-- seed drawn by the auditor are compared first: both tables are then read once each, those of ids whole, and compared row
-- by row only if the sums differ.
CREATE FUNCTION audit_ids(of_channel text, seed bigint) RETURNS TABLE (id_count bigint, bad_idx bigint, bad_id text)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = ledger, pg_temp SET jit = off AS $$
DECLARE
  ours integer := (SELECT channel_id FROM channels WHERE channel = of_channel);
  entered numeric;
BEGIN
  PERFORM permitted(of_channel, 'audit');
  SELECT count(*), sum(hashtextextended(i.id, seed # i.idx)) INTO id_count, entered
    FROM known_ids i WHERE i.channel_id = ours;
  IF (SELECT sum(hashtextextended(w.id, seed # w.idx))
        FROM (SELECT r.id, r.idx FROM records r WHERE r.channel_id = ours
              UNION ALL
              SELECT a.id, a.idx FROM archived_types(ours, 0, 9223372036854775807) a) w)
     IS DISTINCT FROM entered THEN
    SELECT w.idx, w.id INTO bad_idx, bad_id
      FROM (SELECT r.id, r.idx FROM records r WHERE r.channel_id = ours
            UNION ALL
            SELECT a.id, a.idx FROM archived_types(ours, 0, 9223372036854775807) a) w
      WHERE NOT EXISTS (SELECT 1 FROM known_ids i WHERE i.hash = hashtextextended(w.id, ours) AND i.channel_id = ours
                                                    AND i.id = w.id AND i.idx = w.idx)
      ORDER BY w.idx LIMIT 1;
  END IF;
  RETURN NEXT;
END $$;

-- The id that was entered for an index: identifies a record whose row is gone.
CREATE FUNCTION audit_id_at(of_channel text, at_index bigint) RETURNS text
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = ledger, pg_temp SET jit = off AS $$
  SELECT i.id FROM channels c JOIN known_ids i USING (channel_id)
   WHERE c.channel = of_channel AND permitted(of_channel, 'audit') AND i.idx = at_index LIMIT 1
$$;

-- Claims of a channel in order of claim, by page: the last claim, their number, and the first claim that does not match
-- its transaction id, with the first of its records. A claim without a transaction id is compared with that of its
-- record; calling transaction_at for it would cost as much as the rest of a claim. The columns of a page: t.ids are the
-- ids of its records in the table, w.ids those of archived ones, too.
CREATE FUNCTION audit_claims(of_channel text, after_claim bytea, at_most integer)
RETURNS TABLE (claim_count bigint, last_claim bytea, bad_claim bytea, bad_id text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = ledger, pg_temp SET enable_seqscan = off SET jit = off AS $$
  WITH page AS (
    SELECT k.claim, w.ids[1] AS first_id,
           cardinality(w.ids) IS DISTINCT FROM k.record_count
           OR transaction_hash(k.nonce, k.claim, k.fingerprint, of_channel, k.note, w.ids)
              IS DISTINCT FROM coalesce(
                k.transaction_id,
                (SELECT r.transaction_id FROM records r WHERE r.channel_id = k.channel_id AND r.idx = k.first_index),
                transaction_at(k.channel_id, k.first_index)) AS is_bad
      FROM (SELECT n.*, coalesce(u.upto, 0) AS archived
              FROM decoded_claims n JOIN channels c USING (channel_id) LEFT JOIN archives u USING (channel_id)
             WHERE c.channel = of_channel AND n.key >= substr(after_claim, 1, 15) AND n.claim > after_claim
             ORDER BY n.key LIMIT at_most) k
           CROSS JOIN LATERAL (
             SELECT CASE WHEN k.indexes IS NULL THEN ARRAY(
                 SELECT r.id FROM records r
                  WHERE r.channel_id = k.channel_id
                    AND r.idx >= k.first_index AND r.idx < k.first_index + k.record_count
                  ORDER BY r.channel_id, r.idx)
               ELSE ARRAY(
                 SELECT r.id FROM unnest(k.indexes) WITH ORDINALITY i (idx, ordinal)
                        JOIN records r ON r.channel_id = k.channel_id AND r.idx = i.idx
                  WHERE i.idx >= k.archived ORDER BY i.ordinal) END AS ids
             OFFSET 0) t
           CROSS JOIN LATERAL (
             SELECT CASE
               WHEN coalesce(k.first_index, (SELECT min(i) FROM unnest(k.indexes) i)) >= k.archived THEN t.ids
               ELSE ARRAY(
                 SELECT coalesce(a.id, (SELECT r.id FROM records r WHERE r.channel_id = k.channel_id AND r.idx = i.idx))
                   FROM unnest(coalesce(k.indexes, ARRAY(
                          SELECT generate_series(k.first_index, k.first_index + k.record_count - 1))))
                          WITH ORDINALITY i (idx, ordinal)
                        LEFT JOIN LATERAL (
                          SELECT d.ids[i.idx - d.first_index + 1] AS id FROM archived d
                           WHERE d.channel_id = k.channel_id
                             AND d.first_index = stretch_of(k.channel_id, i.idx)) a ON true
                  ORDER BY i.ordinal) END AS ids
             OFFSET 0) w)
  SELECT count(*), (array_agg(claim ORDER BY claim DESC))[1],
         (array_agg(claim ORDER BY claim) FILTER (WHERE is_bad))[1],
         (array_agg(first_id ORDER BY claim) FILTER (WHERE is_bad))[1]
    FROM page WHERE permitted(of_channel, 'audit')
$$;

-- The first record that record_types lacks or that differs from records.
CREATE FUNCTION audit_types(of_channel text) RETURNS bigint
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = ledger, pg_temp SET jit = off AS $$
  SELECT least(
    (SELECT min(w.idx) FROM (
       SELECT t.idx, t.id, t.type FROM channels c JOIN record_types t USING (channel_id)
        WHERE c.channel = of_channel AND NOT EXISTS (SELECT 1 FROM records r
          WHERE r.channel_id = t.channel_id AND r.idx = t.idx AND r.id = t.id AND r.type = t.type)
       EXCEPT
       SELECT a.idx, a.id, a.type
         FROM channels c CROSS JOIN LATERAL archived_types(c.channel_id, 0, 9223372036854775807) a
        WHERE c.channel = of_channel) w),
    (SELECT coalesce(u.upto, 0) FROM channels c LEFT JOIN record_types_upto u USING (channel_id)
      WHERE c.channel = of_channel
        AND coalesce(u.upto, 0) <> (SELECT count(*) FROM record_types t WHERE t.channel_id = c.channel_id)))
   WHERE permitted(of_channel, 'audit')
$$;

-- How far the archive reaches by its own row.
CREATE FUNCTION archived_until(of_channel text) RETURNS bigint
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = ledger, pg_temp SET jit = off AS $$
  SELECT coalesce((SELECT u.upto FROM channels c JOIN archives u USING (channel_id)
                    WHERE c.channel = of_channel AND permitted(of_channel, 'audit')), 0)
$$;

-- The stretches of the archive from an index on.
CREATE FUNCTION audit_archived(of_channel text, from_index bigint, at_most integer)
RETURNS TABLE (first_index bigint, until_index bigint, ids text[], types text[], transactions bytea, salt bytea,
               contents bytea, erased bigint[], last_at_ms bigint)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = ledger, pg_temp SET jit = off AS $$
  SELECT a.first_index, a.until_index, a.ids, a.types, a.transactions, a.salt, a.contents,
         ARRAY(SELECT e.idx FROM erasures e
                WHERE e.channel_id = a.channel_id AND e.idx >= a.first_index AND e.idx < a.until_index ORDER BY e.idx),
         a.last_at_ms
    FROM channels c JOIN archived a USING (channel_id)
   WHERE c.channel = of_channel AND permitted(of_channel, 'audit') AND a.first_index >= from_index
   ORDER BY a.first_index LIMIT at_most
$$;
