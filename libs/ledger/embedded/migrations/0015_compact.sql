-- Up Migration

-- Compact storage of new records, ids and claims. Existing rows stay in their tables: nothing is rewritten.
--   records.data_hash  null while it can be computed from salt and content; an erasure stores it before removing these
--   compact_ids        instead of record_ids: UUIDs as 16 bytes, a unique index over 8 bytes of hash
--   compact_claims     instead of claims: a unique index over 15 bytes of the claim, no data that the record has

-- Locked first, as by every append, to avoid a deadlock.
LOCK TABLE channels IN ACCESS EXCLUSIVE MODE;

-- For the Down migration: the original definitions of the functions replaced below.
CREATE TABLE migrations_0015_replaced AS
  SELECT p.proname, pg_get_functiondef(p.oid) AS definition FROM pg_proc p
   WHERE p.pronamespace = 'ledger'::regnamespace
     AND p.proname IN ('append_v1', 'append_new_v1', 'conflict_v1', 'claim_detail', 'record_v2', 'query_v2', 'erase_v2', 'held_v1',
       'held_v2', 'forget_claims_v1', 'archive_rows_v1', 'audit_records_v1', 'audit_record_v1', 'audit_ids_v1', 'audit_claims_v1',
       'audit_counts_v1', 'audit_id_at_v1');

ALTER TABLE records ALTER COLUMN data_hash DROP NOT NULL;

-- An id is used once per channel, for ever: guarded by the lock of the head, which every append holds. The index finds
-- an id and separates concurrent calls; an id whose hash collides with another's is stored in record_ids, which is
-- rare.
CREATE TABLE compact_ids (
  idx        bigint  NOT NULL,
  channel_id integer NOT NULL,
  uid        uuid,                 -- where the id is the text form of a UUID
  id         text    COLLATE "C"   -- where it is not
);
CREATE UNIQUE INDEX compact_ids_by_hash ON compact_ids (hashtextextended(coalesce(id, uid::text), channel_id));

-- Whether ids of the channel may be in record_ids, or any claims in claims: a channel created while there are none
-- skips these lookups.
CREATE FUNCTION has_claims_of_before() RETURNS boolean LANGUAGE sql STABLE
RETURN EXISTS (SELECT 1 FROM claims);

ALTER TABLE channels ADD COLUMN is_wide boolean NOT NULL DEFAULT true;
ALTER TABLE channels ALTER COLUMN is_wide SET DEFAULT has_claims_of_before();

-- Claims, in eight columns: a row with a null among more would have a longer header. The first 15 bytes must be unique;
-- two claims that share them are refused as unavailable (SHA-256 cut to 120 bits).
CREATE TABLE compact_claims (
  first_index  bigint,
  channel_id   integer  NOT NULL,
  made_on      smallint NOT NULL,             -- days since 2000-01-01
  record_count smallint NOT NULL,
  claim_nonce  bytea    NOT NULL,             -- the 32 bytes of the claim, and the nonce
  fingerprint  text     NOT NULL COLLATE "C",
  note         text     NOT NULL COLLATE "C", -- U+0001 stands for the digits of the nonce
  odd          jsonb                          -- null: the transaction is that of the record at first_index. Else what does
                                              -- not follow: {transactionId, recordCount, indexes (see claims), note}
);
CREATE UNIQUE INDEX compact_claims_by_claim ON compact_claims (substr(claim_nonce, 1, 15));
-- Rows are inserted in order of their days, so BRIN finds their blocks at almost no cost.
CREATE INDEX compact_claims_by_day ON compact_claims USING brin (made_on) WITH (autosummarize = on);

-- Every id, in either table. By id: `hash = hashtextextended(X, channel) AND channel_id = channel AND id = X`.
CREATE VIEW all_ids AS
  SELECT hashtextextended(coalesce(k.id, k.uid::text), k.channel_id) AS hash, k.channel_id,
         CASE WHEN k.uid IS NULL THEN k.id WHEN k.id IS NULL THEN k.uid::text END AS id, k.idx
    FROM compact_ids k
  UNION ALL
  SELECT hashtextextended(w.id, w.channel_id), w.channel_id, w.id, w.idx FROM record_ids w;

-- Every claim, in either table, as it was made. By claim: `key = substr(X, 1, 15) AND claim = X`. transaction_id is
-- null if it is that of the record at first_index.
CREATE VIEW all_claims AS
  SELECT true AS is_compact, substr(k.claim_nonce, 1, 15) AS key, substr(k.claim_nonce, 1, 32) AS claim, k.fingerprint,
         decode(k.odd ->> 'transactionId', 'hex') AS transaction_id, substr(k.claim_nonce, 33) AS nonce, k.channel_id, k.first_index,
         coalesce((k.odd ->> 'recordCount')::integer, k.record_count) AS record_count,
         translate(k.odd ->> 'indexes', '[]', '{}')::bigint[] AS indexes,
         coalesce(k.odd ->> 'note', replace(k.note, E'\x01', encode(substr(k.claim_nonce, 33), 'hex'))) AS note,
         date '2000-01-01' + k.made_on AS made_on
    FROM compact_claims k
  UNION ALL
  SELECT false, substr(w.claim, 1, 15), w.claim, w.fingerprint, w.transaction_id, w.nonce, w.channel_id, w.first_index,
         w.record_count, w.indexes, w.note, w.made_on
    FROM claims w;

-- A call that began before this migration continues with its original statements and does not know the new tables: it
-- must start again (services retry on this code). append_v1 indicates when it inserts an id here.
CREATE FUNCTION refuse_row_of_before() RETURNS trigger
LANGUAGE plpgsql SET search_path = ledger, pg_temp AS $$
BEGIN
  IF current_setting('ledger.enters_wide', true) IS DISTINCT FROM 'yes' THEN
    RAISE EXCEPTION 'the call began before rows of ledger.% went elsewhere', TG_TABLE_NAME USING ERRCODE = 'serialization_failure';
  END IF;
  RETURN NEW;
END $$;

CREATE TRIGGER row_of_before BEFORE INSERT ON record_ids FOR EACH ROW EXECUTE FUNCTION refuse_row_of_before();
CREATE TRIGGER row_of_before BEFORE INSERT ON claims FOR EACH ROW EXECUTE FUNCTION refuse_row_of_before();

-- Null if a text is not the canonical form of a UUID in PostgreSQL. Casting such a text would fail.
CREATE FUNCTION uuid_of(id text) RETURNS uuid LANGUAGE sql IMMUTABLE
RETURN CASE WHEN octet_length(id) = 36 AND id LIKE '________-____-____-____-____________'
              AND octet_length(replace(id, '-', '')) = 32
              AND ltrim(convert_to(id, 'UTF8'), '-0123456789abcdef'::bytea) = ''::bytea THEN id::uuid END;

CREATE FUNCTION transaction_at(of_channel integer, at_index bigint) RETURNS bytea
LANGUAGE sql STABLE
RETURN coalesce((SELECT r.transaction_id FROM records r WHERE r.channel_id = of_channel AND r.idx = at_index),
                (SELECT a.transaction_id FROM archived_record(of_channel, at_index) a));

-- For append_v1, after its lookup: none of the ids is taken, so a taken hash belongs to another id.
CREATE FUNCTION enter_ids(heads integer[], new_ids text[], indexes bigint[]) RETURNS void
LANGUAGE plpgsql SET search_path = ledger, pg_temp AS $$
DECLARE
  entered bigint;
  beside  bigint;
BEGIN
  INSERT INTO compact_ids (idx, channel_id, uid, id)
    SELECT n.idx, n.channel_id, n.uid, CASE WHEN n.uid IS NULL THEN n.id END
      FROM (SELECT i.*, uuid_of(i.id) AS uid FROM unnest(indexes, heads, new_ids) i (idx, channel_id, id) OFFSET 0) n
    ON CONFLICT DO NOTHING;
  GET DIAGNOSTICS entered = ROW_COUNT;
  IF entered < cardinality(new_ids) THEN
    PERFORM set_config('ledger.enters_wide', 'yes', true);
    INSERT INTO record_ids (channel_id, id, idx)
      SELECT n.channel_id, n.id, n.idx FROM unnest(heads, new_ids, indexes) n (channel_id, id, idx)
       WHERE NOT EXISTS (SELECT 1 FROM all_ids i
                          WHERE i.hash = hashtextextended(n.id, n.channel_id) AND i.channel_id = n.channel_id AND i.id = n.id);
    GET DIAGNOSTICS beside = ROW_COUNT;
    PERFORM set_config('ledger.enters_wide', '', true);
    IF entered + beside <> cardinality(new_ids) THEN
      RAISE unique_violation;
    END IF;
    UPDATE channels SET is_wide = true WHERE channel_id = ANY (heads) AND NOT is_wide;
  END IF;
END $$;

-- Not in SQL, so that it costs nothing unless a claim is odd.
CREATE FUNCTION odd_claim(of_transaction bytea, records integer, of_note text, indexes bigint[]) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE SET search_path = ledger, pg_temp AS $$
BEGIN
  RETURN jsonb_build_object('transactionId', encode(of_transaction, 'hex'), 'recordCount', records, 'note', of_note,
                            'indexes', indexes);
END $$;

-- Patches functions for the new locations of ids, claims and content hashes.
DO $$
DECLARE
  change record;
  before text;
BEGIN
  FOR change IN SELECT * FROM (VALUES
    ('append_v1', '  locked       bigint;
', '  locked       bigint;
  any_wide     boolean;
  uids         uuid[];
'),
    ('append_v1', 'SELECT array_agg(c.channel_id ORDER BY u.ordinal) INTO unit_head',
     'SELECT array_agg(c.channel_id ORDER BY u.ordinal), bool_or(c.is_wide) INTO unit_head, any_wide'),
    ('append_v1', 'JOIN claims c ON c.claim = u.claim',
     'JOIN all_claims c ON c.key = substr(u.claim, 1, 15) AND c.claim = u.claim AND (c.is_compact OR any_wide)'),
    ('append_v1', '  -- 3. The ids.',
     '  -- As in append_new_v1.
  IF octet_length(record_id[1]) = 36 THEN
    BEGIN
      uids := record_id::uuid[];
      uids := CASE WHEN uids::text[] = record_id THEN uids END;
    EXCEPTION WHEN invalid_text_representation THEN
      uids := NULL;
    END;
  END IF;

  -- 3. The ids.'),
    ('append_v1', '
      INSERT INTO record_ids (channel_id, id, idx)
        SELECT unit_head[record_unit[n]], record_id[n], coalesce(shifts[record_unit[n]] + n, exact[n])
          FROM generate_series(1, cardinality(record_id)) n
         WHERE writes[record_unit[n]] AND known[n] IS NULL;', '
      IF looked_up THEN
        PERFORM enter_ids(array_agg(unit_head[record_unit[n]]), array_agg(record_id[n]),
                          array_agg(coalesce(shifts[record_unit[n]] + n, exact[n])))
           FROM generate_series(1, cardinality(record_id)) n
          WHERE writes[record_unit[n]] AND known[n] IS NULL;
        EXIT;
      END IF;
      IF any_wide THEN
        IF EXISTS (SELECT 1 FROM unnest(record_unit, record_id) r (unit, id)
                     JOIN record_ids w ON w.channel_id = unit_head[r.unit] AND w.id = r.id) THEN
          RAISE unique_violation;
        END IF;
      END IF;
      IF uids IS NOT NULL THEN
        INSERT INTO compact_ids (idx, channel_id, uid)
          SELECT shifts[record_unit[n]] + n, unit_head[record_unit[n]], uids[n]
            FROM generate_series(1, cardinality(record_id)) n WHERE writes[record_unit[n]];
      ELSE
        INSERT INTO compact_ids (idx, channel_id, uid, id)
          SELECT i.idx, i.channel_id, i.uid, CASE WHEN i.uid IS NULL THEN i.id END
            FROM (SELECT shifts[record_unit[n]] + n AS idx, unit_head[record_unit[n]] AS channel_id,
                         uuid_of(record_id[n]) AS uid, record_id[n] AS id
                    FROM generate_series(1, cardinality(record_id)) n WHERE writes[record_unit[n]] OFFSET 0) i;
      END IF;'),
    ('append_v1', 'JOIN record_ids i ON i.channel_id = unit_head[r.unit] AND i.id = r.id',
     'JOIN all_ids i ON i.hash = hashtextextended(r.id, unit_head[r.unit]) AND i.channel_id = unit_head[r.unit] AND i.id = r.id'),
    ('append_v1', 'INSERT INTO claims (claim, fingerprint, transaction_id, nonce, channel_id, first_index, record_count, indexes, note)
    SELECT u.claim, split_part(u.fingerprint, '' '', 1), u.transaction_id, u.nonce, unit_head[u.ordinal],
           firsts[u.ordinal], unit_records[u.ordinal],
           CASE WHEN firsts[u.ordinal] IS NULL THEN
             (SELECT array_agg(coalesce(known[r.ordinal], exact[r.ordinal]) ORDER BY r.ordinal)
                FROM unnest(record_unit) WITH ORDINALITY r (unit, ordinal) WHERE r.unit = u.ordinal) END,
           u.note
',   'INSERT INTO compact_claims (first_index, channel_id, made_on, record_count, claim_nonce, fingerprint, note, odd)
    SELECT firsts[u.ordinal], unit_head[u.ordinal], CURRENT_DATE - date ''2000-01-01'', least(unit_records[u.ordinal], 32767),
           CASE WHEN octet_length(u.claim) = 32 THEN u.claim || u.nonce END, split_part(u.fingerprint, '' '', 1),
           replace(u.note, encode(u.nonce, ''hex''), E''\x01''),
           CASE WHEN firsts[u.ordinal] IS NULL OR unit_records[u.ordinal] NOT BETWEEN 1 AND 32767 OR strpos(u.note, E''\x01'') > 0 THEN
             odd_claim(u.transaction_id, unit_records[u.ordinal], u.note, CASE WHEN firsts[u.ordinal] IS NULL THEN
               (SELECT array_agg(coalesce(known[r.ordinal], exact[r.ordinal]) ORDER BY r.ordinal)
                  FROM unnest(record_unit) WITH ORDINALITY r (unit, ordinal) WHERE r.unit = u.ordinal) END) END
'),
    ('append_v1', 'salt, data_hash, leaf_hash', 'salt, leaf_hash'),
    ('append_v1', 'record_data_hash[n], ', ''),
    ('claim_detail', 'receipts_detail(c.transaction_id,',
     'receipts_detail(coalesce(c.transaction_id, transaction_at(c.channel_id, c.first_index)),'),
    ('claim_detail', 'FROM claims c WHERE c.claim = of_claim',
     'FROM all_claims c WHERE c.key = substr(of_claim, 1, 15) AND c.claim = of_claim'),
    ('query_v2', 'o.data_hash', 'coalesce(o.data_hash, content_hash(o.salt, o.data, o.extra)) AS data_hash'),
    ('erase_v2', 'JOIN record_ids i ON i.channel_id = c.channel_id AND i.id = of_id',
     'JOIN all_ids i ON i.hash = hashtextextended(of_id, c.channel_id) AND i.channel_id = c.channel_id AND i.id = of_id'),
    ('erase_v2', 'UPDATE records SET data = NULL',
     'UPDATE records SET data_hash = coalesce(data_hash, content_hash(salt, data, extra)), data = NULL'),
    ('archive_rows_v1', 'r.data_hash', 'coalesce(r.data_hash, content_hash(r.salt, r.data, r.extra))'),
    ('audit_ids_v1', 'FROM record_ids i WHERE i.channel_id = ours)', 'FROM all_ids i WHERE i.channel_id = ours)'),
    ('audit_ids_v1', 'FROM record_ids i WHERE i.channel_id = ours AND i.id = w.id',
     'FROM all_ids i WHERE i.hash = hashtextextended(w.id, ours) AND i.channel_id = ours AND i.id = w.id'),
    ('audit_counts_v1', 'FROM record_ids i', 'FROM all_ids i'),
    ('audit_counts_v1', 'SELECT channel_id FROM claims UNION ALL',
     'SELECT channel_id FROM claims UNION ALL SELECT channel_id FROM compact_claims UNION ALL'),
    ('audit_id_at_v1', 'JOIN record_ids i', 'JOIN all_ids i'),
    ('audit_records_v1', 'ELSE content_hash(r.salt, r.data, r.extra) <> r.data_hash END',
     'ELSE r.data_hash IS NOT NULL AND content_hash(r.salt, r.data, r.extra) <> r.data_hash END'),
    ('audit_records_v1', 'r.data_hash, r.id', 'coalesce(r.data_hash, content_hash(r.salt, r.data, r.extra)), r.id'),
    ('audit_records_v1', '<> r.leaf_hash AS is_bad', 'IS DISTINCT FROM r.leaf_hash AS is_bad'),
    ('audit_record_v1', 'r.data_hash, r.id', 'coalesce(r.data_hash, content_hash(r.salt, r.data, r.extra)), r.id'),
    ('audit_record_v1', '<> r.leaf_hash THEN', 'IS DISTINCT FROM r.leaf_hash THEN')) c (name, old, new)
  LOOP
    SELECT pg_get_functiondef(p.oid) INTO before FROM pg_proc p
     WHERE p.pronamespace = 'ledger'::regnamespace AND p.proname = change.name;
    IF strpos(before, change.old) = 0 THEN
      RAISE EXCEPTION '% is not what it is expected to be: %', change.name, change.old;
    END IF;
    EXECUTE replace(before, change.old, change.new);
  END LOOP;
END $$;

-- As in 0011_append_new.sql, into the tables above. It is null, too, if append_v1 has to write a claim.
CREATE OR REPLACE FUNCTION append_new_v1(
  of_channel text, unit_claim bytea[], unit_fingerprint text[], unit_transaction bytea[], unit_nonce bytea[],
  unit_note text[], unit_at bigint[], unit_records integer[],
  record_unit integer[], record_id text[], record_type text[], record_owner text[], record_data text[],
  record_extra text[], record_salt bytea[], record_data_hash bytea[], record_leaf_hash bytea[])
RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = ledger, pg_temp
  SET jit = off SET enable_seqscan = off SET plan_cache_mode = force_generic_plan AS $$
DECLARE
  total     CONSTANT bigint   := cardinality(record_id);
  today     CONSTANT smallint := CURRENT_DATE - date '2000-01-01';
  is_single boolean;   -- every unit has one record
  ours      integer;
  base      bigint;
  is_wide   boolean;
  behind    bigint[];  -- of each unit, how many records there are up to its last; null where is_single
  uids      uuid[];
BEGIN
  SELECT min(n) = 1 AND max(n) = 1 INTO is_single FROM unnest(unit_records) n HAVING sum(n) = total AND min(n) >= 0;
  -- Else a head would move by another number than that of the records.
  IF NOT FOUND THEN
    RAISE EXCEPTION 'the units do not have as many records as were sent' USING ERRCODE = 'invalid_parameter_value';
  END IF;
  -- As in append_v1, the head tells who may append, and a halt or a change of grants waits for it or is seen.
  UPDATE channels c SET size = c.size + total WHERE c.channel = of_channel AND session_user = ANY (c.appenders)
    RETURNING c.channel_id, c.size - total, c.is_wide INTO ours, base, is_wide;
  IF NOT FOUND THEN
    PERFORM permitted(of_channel, 'append');
    RETURN NULL;
  END IF;
  IF (base + total) >> 20 > 0 THEN
    PERFORM ensure_next_partition(base + total);
  END IF;
  -- No row comes into these two but ids of this channel, for which the head is held.
  IF is_wide THEN
    IF EXISTS (SELECT 1 FROM unnest(unit_claim) u (claim) JOIN claims w ON w.claim = u.claim)
       OR EXISTS (SELECT 1 FROM unnest(record_id) r (id) JOIN record_ids w ON w.channel_id = ours AND w.id = r.id) THEN
      RAISE unique_violation;
    END IF;
  END IF;
  -- The claims in one order for everybody, as in append_v1: they are unique over all channels. Null, and so refused, is what
  -- a row of few bytes cannot say.
  IF NOT is_single THEN
    behind := ARRAY(SELECT sum(n.records) OVER (ORDER BY n.ordinal ROWS UNBOUNDED PRECEDING)
                      FROM unnest(unit_records) WITH ORDINALITY n (records, ordinal));
  END IF;
  INSERT INTO compact_claims (first_index, channel_id, made_on, record_count, claim_nonce, fingerprint, note)
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
    INSERT INTO compact_ids (idx, channel_id, uid)
      SELECT base + r.ordinal - 1, ours, r.uid FROM unnest(uids) WITH ORDINALITY r (uid, ordinal);
  ELSE
    INSERT INTO compact_ids (idx, channel_id, uid, id)
      SELECT base + r.ordinal - 1, ours, r.uid, CASE WHEN r.uid IS NULL THEN r.id END
        FROM (SELECT n.ordinal, n.id, uuid_of(n.id) AS uid FROM unnest(record_id) WITH ORDINALITY n (id, ordinal) OFFSET 0) r;
  END IF;
  INSERT INTO records (channel_id, idx, id, type, owner, data, extra, salt, leaf_hash, transaction_id, at_ms)
    SELECT ours, base + r.ordinal - 1, r.id, r.type, r.owner, r.data, r.extra, r.salt, r.leaf_hash,
           unit_transaction[r.unit], unit_at[r.unit]
      FROM unnest(record_unit, record_id, record_type, record_owner, record_data, record_extra, record_salt, record_leaf_hash)
           WITH ORDINALITY r (unit, id, type, owner, data, extra, salt, leaf_hash, ordinal);
  RETURN base;
EXCEPTION WHEN unique_violation OR not_null_violation OR numeric_value_out_of_range THEN
  RETURN NULL;
END $$;

-- As in 0014_archive.sql; planned once per connection, which saves more than the second table costs.
CREATE OR REPLACE FUNCTION conflict_v1(of_channel text, of_claim bytea, ids text[], types text[], owners text[], datas text[], extras text[]) RETURNS text
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = ledger, pg_temp
  SET enable_seqscan = off SET jit = off SET plan_cache_mode = force_generic_plan AS $$
BEGIN
  RETURN (
    SELECT r.id
      FROM channels c
      CROSS JOIN unnest(ids, types, owners, datas, extras) WITH ORDINALITY r (id, type, owner, data, extra, ordinal)
      JOIN all_ids i ON i.hash = hashtextextended(r.id, c.channel_id) AND i.channel_id = c.channel_id AND i.id = r.id
     WHERE c.channel = of_channel AND permitted(of_channel, 'append')
       AND NOT EXISTS (SELECT 1 FROM all_claims k WHERE k.key = substr(of_claim, 1, 15) AND k.claim = of_claim)
       AND NOT holds_content(c.channel_id, i.idx, r.type, r.owner, r.data, r.extra)
     ORDER BY r.ordinal LIMIT 1);
END $$;

CREATE OR REPLACE FUNCTION record_v2(of_channel text, of_id text)
RETURNS TABLE (network text, channel text, idx bigint, id text, type text, owner text, data text, extra text, salt bytea,
               data_hash bytea, leaf_hash bytea, transaction_id bytea, at_ms bigint,
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
      JOIN all_ids i ON i.hash = hashtextextended(of_id, c.channel_id) AND i.channel_id = c.channel_id AND i.id = of_id
      JOIN records r ON r.channel_id = c.channel_id AND r.idx = i.idx
     WHERE c.channel = of_channel
    UNION ALL
    SELECT c.network, c.channel, a.idx, a.id, a.type, NULL, NULL, NULL, NULL, NULL, a.leaf_hash, a.transaction_id, NULL,
           a.first_index, a.until_index,
           EXISTS (SELECT 1 FROM erasures e WHERE e.channel_id = c.channel_id AND e.idx = a.idx)
      FROM channels c
      JOIN all_ids i ON i.hash = hashtextextended(of_id, c.channel_id) AND i.channel_id = c.channel_id AND i.id = of_id
      CROSS JOIN LATERAL archived_record(c.channel_id, i.idx) a
     WHERE c.channel = of_channel;
END $$;

-- As in 0010_epochs.sql. In both, a check of the gate needs one statement, as before, unless the channel is wide.
CREATE OR REPLACE FUNCTION held_v2(of_channel text, ids text[]) RETURNS text[]
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = ledger, pg_temp
  SET enable_seqscan = off SET jit = off SET plan_cache_mode = force_generic_plan AS $$
DECLARE
  held    text[];
  appends boolean;
  ours    integer;  -- where record_ids may hold some, too
BEGIN
  SELECT array_agg(w.id) FILTER (WHERE k.idx IS NOT NULL), bool_or(session_user = ANY (c.appenders)),
         max(c.channel_id) FILTER (WHERE c.is_wide)
    INTO held, appends, ours
    FROM channels c LEFT JOIN unnest(ids) w (id) ON true
         LEFT JOIN compact_ids k ON hashtextextended(coalesce(k.id, k.uid::text), k.channel_id) = hashtextextended(w.id, c.channel_id)
                                AND k.channel_id = c.channel_id AND coalesce(k.id, k.uid::text) = w.id
   WHERE c.channel = of_channel;
  IF ours IS NOT NULL THEN
    held := nullif(held || ARRAY(SELECT w.id FROM record_ids w WHERE w.channel_id = ours AND w.id = ANY (ids)), '{}');
  END IF;
  IF appends IS NOT TRUE AND of_channel <> '' THEN
    PERFORM permitted(of_channel, 'append', 'read');
    PERFORM refuse_lost(ARRAY[of_channel]);
  END IF;
  RETURN held;
END $$;

CREATE OR REPLACE FUNCTION held_v1(of_channel text, ids text[]) RETURNS text[]
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = ledger, pg_temp
  SET enable_seqscan = off SET jit = off SET plan_cache_mode = force_generic_plan AS $$
DECLARE
  held    text[];
  appends boolean;
  ours    integer;  -- where record_ids may hold some, too
  epoch   integer;
BEGIN
  SELECT array_agg(w.id) FILTER (WHERE k.idx IS NOT NULL), bool_or(session_user = ANY (c.appenders)),
         max(c.channel_id) FILTER (WHERE c.is_wide), max(c.epoch)
    INTO held, appends, ours, epoch
    FROM channels c LEFT JOIN unnest(ids) w (id) ON true
         LEFT JOIN compact_ids k ON hashtextextended(coalesce(k.id, k.uid::text), k.channel_id) = hashtextextended(w.id, c.channel_id)
                                AND k.channel_id = c.channel_id AND coalesce(k.id, k.uid::text) = w.id
   WHERE c.channel = of_channel;
  IF ours IS NOT NULL THEN
    held := nullif(held || ARRAY(SELECT w.id FROM record_ids w WHERE w.channel_id = ours AND w.id = ANY (ids)), '{}');
  END IF;
  IF appends IS NOT TRUE AND of_channel <> '' THEN
    PERFORM permitted(of_channel, 'append', 'read');
    PERFORM refuse_lost(ARRAY[of_channel]);
  END IF;
  IF epoch > 0 THEN
    RAISE EXCEPTION 'records that were signed for were lost' USING ERRCODE = '08L01', DETAIL = of_channel;
  END IF;
  RETURN held;
END $$;

CREATE OR REPLACE FUNCTION forget_claims_v1(keep_days integer, at_most integer) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = ledger, pg_temp
  SET jit = off SET enable_seqscan = off SET plan_cache_mode = force_generic_plan AS $$
DECLARE
  removed integer;
  compact integer;
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
  DELETE FROM compact_claims WHERE ctid = ANY (ARRAY(
    SELECT k.ctid FROM compact_claims k JOIN channels c ON c.channel_id = k.channel_id
     WHERE k.made_on < (CURRENT_DATE - date '2000-01-01' - keep_days)::smallint
       AND (session_user = ANY (c.appenders) OR has_right(c.channel, 'append'))
     LIMIT at_most - removed FOR UPDATE OF k SKIP LOCKED));
  GET DIAGNOSTICS compact = ROW_COUNT;
  RETURN removed + compact;
END $$;

-- As in 0014_archive.sql, over both tables. A claim without a transaction id is compared with that of its record.
CREATE OR REPLACE FUNCTION audit_claims_v1(of_channel text, after_claim bytea, at_most integer)
RETURNS TABLE (claim_count bigint, last_claim bytea, bad_claim bytea, bad_id text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = ledger, pg_temp SET enable_seqscan = off SET jit = off AS $$
  WITH page AS (
    SELECT k.claim, w.ids[1] AS first_id,
           cardinality(w.ids) IS DISTINCT FROM k.record_count
           OR transaction_hash(k.nonce, k.claim, k.fingerprint, of_channel, k.note, w.ids)
              IS DISTINCT FROM coalesce(k.transaction_id, transaction_at(k.channel_id, k.first_index)) AS is_bad
      FROM (SELECT l.*, coalesce(u.upto, 0) AS archived
              FROM ((SELECT n.* FROM all_claims n JOIN channels c USING (channel_id)
                      WHERE c.channel = of_channel AND n.is_compact AND n.key >= substr(after_claim, 1, 15)
                        AND n.claim > after_claim ORDER BY n.key LIMIT at_most)
                    UNION ALL
                    (SELECT o.* FROM all_claims o JOIN channels c USING (channel_id)
                      WHERE c.channel = of_channel AND NOT o.is_compact AND o.claim > after_claim ORDER BY o.claim LIMIT at_most)) l
                   LEFT JOIN archives u USING (channel_id)
             ORDER BY l.claim LIMIT at_most) k
           CROSS JOIN LATERAL (
             SELECT CASE WHEN k.indexes IS NULL THEN ARRAY(
                 SELECT r.id FROM records r
                  WHERE r.channel_id = k.channel_id AND r.idx >= k.first_index AND r.idx < k.first_index + k.record_count
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
                          SELECT generate_series(k.first_index, k.first_index + k.record_count - 1)))) WITH ORDINALITY i (idx, ordinal)
                        LEFT JOIN LATERAL (SELECT d.ids[i.idx - d.first_index + 1] AS id FROM archived d
                          WHERE d.channel_id = k.channel_id AND d.first_index = stretch_of(k.channel_id, i.idx)) a ON true
                  ORDER BY i.ordinal) END AS ids
             OFFSET 0) w)
  SELECT count(*), (array_agg(claim ORDER BY claim DESC))[1], (array_agg(claim ORDER BY claim) FILTER (WHERE is_bad))[1],
         (array_agg(first_id ORDER BY claim) FILTER (WHERE is_bad))[1]
    FROM page WHERE permitted(of_channel, 'audit')
$$;

-- Down Migration

-- Moves everything back to the tables of the previous version. This does rewrite. A claim whose record is missing is
-- still reported by an audit.
DROP TRIGGER row_of_before ON record_ids;
DROP TRIGGER row_of_before ON claims;
INSERT INTO record_ids (channel_id, id, idx) SELECT k.channel_id, coalesce(k.id, k.uid::text), k.idx FROM compact_ids k;
INSERT INTO claims (claim, fingerprint, transaction_id, nonce, channel_id, first_index, record_count, indexes, note, made_on)
  SELECT k.claim, k.fingerprint, coalesce(k.transaction_id, transaction_at(k.channel_id, k.first_index), ''), k.nonce,
         k.channel_id, k.first_index, k.record_count, k.indexes, k.note, k.made_on
    FROM all_claims k WHERE k.is_compact;
UPDATE records SET data_hash = content_hash(salt, data, extra) WHERE data_hash IS NULL;
ALTER TABLE records ALTER COLUMN data_hash SET NOT NULL;
DO $$
DECLARE
  replaced record;
BEGIN
  FOR replaced IN SELECT definition FROM migrations_0015_replaced LOOP
    EXECUTE replaced.definition;
  END LOOP;
END $$;
DROP FUNCTION enter_ids, odd_claim, refuse_row_of_before;
DROP VIEW all_claims, all_ids;
DROP FUNCTION transaction_at;
DROP TABLE compact_claims, compact_ids, migrations_0015_replaced;
DROP FUNCTION uuid_of;
ALTER TABLE channels DROP COLUMN is_wide;
DROP FUNCTION has_claims_of_before;
