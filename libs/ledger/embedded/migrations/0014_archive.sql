-- Up Migration

-- Records of a channel below an index can be stored in files instead of ledger.records
-- (infra/decisions/0007-archived-records.md). Their ids stay in record_ids, their leaf hashes in the tiles, and the
-- data needed for receipts, create-once and the audit in this table, one row per stretch of at most 1,024 records. Each
-- bytea holds 32 bytes per record.

-- For the Down migration: the original definitions of the functions replaced below.
CREATE TABLE migrations_0014_replaced AS
  SELECT p.proname, pg_get_functiondef(p.oid) AS definition FROM pg_proc p
   WHERE p.pronamespace = 'ledger'::regnamespace
     AND p.proname IN ('append_v1', 'conflict_v1', 'receipts_detail', 'receipts_v1', 'record_v1', 'query_v1', 'index_types_v1',
       'erase_v2', 'audit_ids_v1', 'audit_claims_v1', 'audit_counts_v1', 'audit_types_v1');

CREATE TABLE archived (
  channel_id   integer NOT NULL,
  first_index  bigint  NOT NULL,
  until_index  bigint  NOT NULL,
  ids          text[]  COLLATE "C" NOT NULL,
  types        text[]  COLLATE "C" NOT NULL,
  transactions bytea   NOT NULL,
  salt         bytea   NOT NULL,
  contents     bytea   NOT NULL,
  PRIMARY KEY (channel_id, first_index)
);
-- Hashes do not compress; uncompressed, one of them is read without the others.
ALTER TABLE archived ALTER COLUMN contents SET STORAGE EXTERNAL;

-- Its row lock is held while files of the channel are written.
CREATE TABLE archives (
  channel_id integer PRIMARY KEY,
  upto       bigint NOT NULL DEFAULT 0
);

-- Erased in the database, but not in the file yet.
CREATE TABLE unwritten_erasures (
  channel_id integer NOT NULL,
  idx        bigint  NOT NULL,
  PRIMARY KEY (channel_id, idx)
);

-- The hash that create-once compares for an archived record. The salt of the stretch prevents looking up guessed
-- contents in other stretches; an erasure replaces the hash by zeros, which no content has.
CREATE FUNCTION archived_content(salt bytea, idx bigint, type text, owner text, data text, extra text) RETURNS bytea
LANGUAGE sql STABLE
RETURN sha256(salt || int8send(idx) || convert_to('[' || to_json(type)::text || ',' || coalesce(to_json(owner)::text, 'null')
  || ',' || data || ',' || coalesce(extra, 'null') || ']', 'UTF8'));

-- The first index of the stretch that contains an index; null for a record in the table.
CREATE FUNCTION stretch_of(of_channel integer, at_index bigint) RETURNS bigint
LANGUAGE sql STABLE SET search_path = ledger, pg_temp AS $$
  SELECT CASE WHEN at_index < s.until_index THEN s.first_index END
    FROM (SELECT a.first_index, a.until_index FROM archived a
           WHERE a.channel_id = of_channel AND a.first_index <= at_index ORDER BY a.first_index DESC LIMIT 1) s
$$;

CREATE FUNCTION archived_record(of_channel integer, at_index bigint)
RETURNS TABLE (idx bigint, id text, type text, transaction_id bytea, leaf_hash bytea, first_index bigint, until_index bigint)
LANGUAGE sql STABLE SET search_path = ledger, pg_temp AS $$
  SELECT at_index, a.ids[at_index - a.first_index + 1], a.types[at_index - a.first_index + 1],
         substring(a.transactions FROM (at_index - a.first_index)::integer * 32 + 1 FOR 32),
         (SELECT substring(t.hashes FROM (at_index & 255)::integer * 32 + 1 FOR 32) FROM tiles t
           WHERE t.channel_id = of_channel AND t.level = 0 AND t.tile = at_index >> 8),
         a.first_index, a.until_index
    FROM archived a WHERE a.channel_id = of_channel AND a.first_index = stretch_of(of_channel, at_index)
$$;

-- Whether the record at an index, in table or file, holds this content, as compared by create-once. False once it was
-- erased.
CREATE FUNCTION holds_content(of_channel integer, at_index bigint, of_type text, of_owner text, of_data text, of_extra text)
RETURNS boolean
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

-- Patches two functions for archived records: append_v1 compares a taken id by holds_content, and audit_counts_v1 also
-- counts the tables above and excludes erasures of archived records.
DO $$
DECLARE
  change record;
  before text;
BEGIN
  FOR change IN SELECT * FROM (VALUES
    ('append_v1', 'PERFORM 1 FROM records o\s[^;]*;\s*IF FOUND THEN',
     'IF holds_content(had.channel_id, had.idx, record_type[had.ordinal], record_owner[had.ordinal],
                       record_data[had.ordinal], record_extra[had.ordinal]) THEN'),
    ('audit_counts_v1', 'SELECT channel_id FROM erasures\)',
     'SELECT channel_id FROM erasures UNION ALL SELECT channel_id FROM archived UNION ALL
            SELECT channel_id FROM archives UNION ALL SELECT channel_id FROM unwritten_erasures)'),
    ('audit_counts_v1', 'r\.salt IS NULL\)', 'r.salt IS NULL)
                     AND stretch_of(e.channel_id, e.idx) IS NULL')) c (name, old, new)
  LOOP
    SELECT pg_get_functiondef(p.oid) INTO before FROM pg_proc p
     WHERE p.pronamespace = 'ledger'::regnamespace AND p.proname = change.name;
    IF before !~ change.old THEN
      RAISE EXCEPTION '% is not what it is expected to be', change.name;
    END IF;
    EXECUTE regexp_replace(before, change.old, change.new);
  END LOOP;
END $$;

CREATE OR REPLACE FUNCTION conflict_v1(of_channel text, of_claim bytea, ids text[], types text[], owners text[], datas text[], extras text[]) RETURNS text
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = ledger, pg_temp SET jit = off AS $$
  SELECT r.id
    FROM channels c
    JOIN unnest(ids, types, owners, datas, extras) WITH ORDINALITY r (id, type, owner, data, extra, ordinal) ON true
    JOIN record_ids i ON i.channel_id = c.channel_id AND i.id = r.id
   WHERE c.channel = of_channel AND permitted(of_channel, 'append')
     AND NOT EXISTS (SELECT 1 FROM claims k WHERE k.claim = of_claim)
     AND NOT holds_content(c.channel_id, i.idx, r.type, r.owner, r.data, r.extra)
   ORDER BY r.ordinal LIMIT 1
$$;

CREATE OR REPLACE FUNCTION receipts_detail(of_transaction bytea, of_note text, of_channel integer, at_indexes bigint[]) RETURNS json
LANGUAGE sql STABLE SET search_path = ledger, pg_temp AS $$
  SELECT json_build_object('transactionId', encode(of_transaction, 'hex'), 'note', of_note, 'records', (
    SELECT json_agg(json_build_object('id', r.id, 'index', r.idx, 'transactionId', encode(r.transaction_id, 'hex'),
                                      'leafHash', encode(r.leaf_hash, 'hex')) ORDER BY i.ordinal)
      FROM unnest(at_indexes) WITH ORDINALITY i (idx, ordinal)
           -- Held apart, so that a plan made while the table was empty still looks up record by record.
           CROSS JOIN LATERAL (SELECT o.id, o.idx, o.transaction_id, o.leaf_hash FROM records o
                                WHERE o.channel_id = of_channel AND o.idx = i.idx
                               UNION ALL
                               SELECT a.id, a.idx, a.transaction_id, a.leaf_hash FROM archived_record(of_channel, i.idx) a
                               OFFSET 0) r))
$$;

CREATE OR REPLACE FUNCTION receipts_v1(of_channel text, at_indexes bigint[])
RETURNS TABLE (idx bigint, id text, transaction_id text)
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

-- As record_v1. For an archived record: its stretch (archived_from, archived_until) and the values kept in the
-- database; owner, data, extra, salt, data_hash and at_ms are null.
CREATE FUNCTION record_v2(of_channel text, of_id text)
RETURNS TABLE (network text, channel text, idx bigint, id text, type text, owner text, data text, extra text, salt bytea,
               data_hash bytea, leaf_hash bytea, transaction_id bytea, at_ms bigint,
               archived_from bigint, archived_until bigint, erased boolean)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = ledger, pg_temp SET jit = off AS $$
  SELECT c.network, c.channel, r.idx, r.id, r.type, r.owner, r.data, r.extra, r.salt, r.data_hash, r.leaf_hash,
         r.transaction_id, r.at_ms, NULL::bigint, NULL::bigint, r.salt IS NULL
    FROM channels c
    JOIN record_ids i ON i.channel_id = c.channel_id AND i.id = of_id
    JOIN records r ON r.channel_id = c.channel_id AND r.idx = i.idx
   WHERE c.channel = of_channel AND permitted(of_channel, 'read')
  UNION ALL
  SELECT c.network, c.channel, a.idx, a.id, a.type, NULL, NULL, NULL, NULL, NULL, a.leaf_hash, a.transaction_id, NULL,
         a.first_index, a.until_index,
         EXISTS (SELECT 1 FROM erasures e WHERE e.channel_id = c.channel_id AND e.idx = a.idx)
    FROM channels c
    JOIN record_ids i ON i.channel_id = c.channel_id AND i.id = of_id
    CROSS JOIN LATERAL archived_record(c.channel_id, i.idx) a
   WHERE c.channel = of_channel AND permitted(of_channel, 'read')
$$;

-- For services of the previous version, which do not know files: raises an outage, never "not found". True otherwise.
CREATE FUNCTION refuse_archived(idx bigint, archived_from bigint) RETURNS boolean
LANGUAGE plpgsql STABLE SET search_path = ledger, pg_temp AS $$
BEGIN
  IF archived_from IS NOT NULL THEN
    RAISE EXCEPTION 'record % is archived', idx USING ERRCODE = '08L02';
  END IF;
  RETURN true;
END $$;

CREATE OR REPLACE FUNCTION record_v1(of_channel text, of_id text)
RETURNS TABLE (network text, channel text, idx bigint, id text, type text, owner text, data text, extra text, salt bytea,
               data_hash bytea, leaf_hash bytea, transaction_id bytea, at_ms bigint)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = ledger, pg_temp SET jit = off AS $$
  SELECT r.network, r.channel, r.idx, r.id, r.type, r.owner, r.data, r.extra, r.salt, r.data_hash, r.leaf_hash,
         r.transaction_id, r.at_ms
    FROM record_v2(of_channel, of_id) r WHERE refuse_archived(r.idx, r.archived_from)
$$;

CREATE OR REPLACE FUNCTION index_types_v1(of_channel text, at_most integer) RETURNS boolean
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
      SELECT channel_id, type, id, idx FROM records WHERE channel_id = ours.channel_id AND idx >= reached AND idx < reaching
      UNION ALL
      SELECT ours.channel_id, a.type, a.id, a.idx FROM archived_types(ours.channel_id, reached, reaching) a;
    UPDATE record_types_upto SET upto = reaching WHERE channel_id = ours.channel_id;
  END IF;
  RETURN reaching >= ours.size;
END $$;

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

-- As query_v1, with archived records as in record_v2.
CREATE FUNCTION query_v2(of_channel text, of_type text, after_id text, at_most integer)
RETURNS TABLE (network text, channel text, idx bigint, id text, type text, owner text, data text, extra text, salt bytea,
               data_hash bytea, leaf_hash bytea, transaction_id bytea, at_ms bigint,
               archived_from bigint, archived_until bigint, erased boolean)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = ledger, pg_temp SET jit = off AS $$
  SELECT c.network, c.channel, r.idx, r.id, r.type, r.owner, r.data, r.extra, r.salt, r.data_hash, r.leaf_hash,
         r.transaction_id, r.at_ms, r.archived_from, r.archived_until, r.erased
    FROM channels c
    JOIN LATERAL (SELECT t.id, t.idx FROM record_types t
                   WHERE t.channel_id = c.channel_id AND t.type = of_type AND t.id > after_id
                   ORDER BY t.id LIMIT at_most) t ON true
    CROSS JOIN LATERAL (
      SELECT o.idx, o.id, o.type, o.owner, o.data, o.extra, o.salt, o.data_hash, o.leaf_hash, o.transaction_id, o.at_ms,
             NULL::bigint AS archived_from, NULL::bigint AS archived_until, o.salt IS NULL AS erased
        FROM records o WHERE o.channel_id = c.channel_id AND o.idx = t.idx
      UNION ALL
      SELECT a.idx, a.id, a.type, NULL, NULL, NULL, NULL, NULL, a.leaf_hash, a.transaction_id, NULL, a.first_index,
             a.until_index, EXISTS (SELECT 1 FROM erasures e WHERE e.channel_id = c.channel_id AND e.idx = a.idx)
        FROM archived_record(c.channel_id, t.idx) a
      OFFSET 0) r
   WHERE c.channel = of_channel AND permitted(of_channel, 'read')
   ORDER BY r.id
$$;

CREATE OR REPLACE FUNCTION query_v1(of_channel text, of_type text, after_id text, at_most integer)
RETURNS TABLE (network text, channel text, idx bigint, id text, type text, owner text, data text, extra text, salt bytea,
               data_hash bytea, leaf_hash bytea, transaction_id bytea, at_ms bigint)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = ledger, pg_temp SET jit = off AS $$
  SELECT q.network, q.channel, q.idx, q.id, q.type, q.owner, q.data, q.extra, q.salt, q.data_hash, q.leaf_hash,
         q.transaction_id, q.at_ms
    FROM query_v2(of_channel, of_type, after_id, at_most) q WHERE refuse_archived(q.idx, q.archived_from) ORDER BY q.id
$$;

-- The content of an archived record disappears from answers and from create-once immediately; the process that writes
-- the archive then removes it from the file.
CREATE OR REPLACE FUNCTION erase_v2(of_channel text, of_id text, for_reason text, now_ms bigint, by_actor text, in_request text)
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
    FROM channels c JOIN record_ids i ON i.channel_id = c.channel_id AND i.id = of_id WHERE c.channel = of_channel;
  IF NOT FOUND THEN
    RETURN false;
  END IF;
  event := (place.channel_id, place.idx, for_reason, now_ms, NULL, session_user::text, by_actor, in_request);
  event.row_hash := erasure_hash(event);
  UPDATE records SET data = NULL, extra = NULL, salt = NULL
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

-- The archive state of a channel. Out: the number of records, of signed and of archived ones; the index from which on
-- they are younger than a time; and the reason why the channel must not be archived, as a sentence.
CREATE FUNCTION archive_state_v1(of_channel text, before_ms bigint)
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

-- Null if the channel may be archived. A surface that owns a channel reads its records back without any files.
CREATE FUNCTION archive_refusal(of_channel text) RETURNS text
LANGUAGE sql STABLE SET search_path = ledger, pg_temp AS $$
  SELECT coalesce(
    (SELECT format('channel %s is owned by %s, which reads its records without the files of an archive', of_channel, min(g.surface))
       FROM grants g WHERE g.channel = of_channel AND g.owns HAVING count(*) > 0),
    (SELECT format('channel %s is halted: %s', of_channel, h.problem)
       FROM halts h JOIN channels c USING (channel_id) WHERE c.channel = of_channel),
    (SELECT format('channel %s went on in epoch %s after a loss, and an archive is of one log', of_channel, e.epoch)
       FROM (SELECT (to_jsonb(c) ->> 'epoch')::integer AS epoch FROM channels c WHERE c.channel = of_channel) e
      WHERE e.epoch > 0))
$$;

-- Rows to be written to a file, up to a total content size, at least one.
CREATE FUNCTION archive_rows_v1(of_channel text, from_index bigint, until_index bigint, max_bytes bigint)
RETURNS TABLE (idx bigint, id text, type text, owner text, data text, extra text, salt bytea, data_hash bytea,
               transaction_id bytea, at_ms bigint)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = ledger, pg_temp SET enable_seqscan = off SET jit = off AS $$
  SELECT r.idx, r.id, r.type, r.owner, r.data, r.extra, r.salt, r.data_hash, r.transaction_id, r.at_ms
    FROM (SELECT o.*, sum(coalesce(octet_length(o.data), 0) + coalesce(octet_length(o.extra), 0)) OVER (ORDER BY o.idx) AS bytes
            FROM channels c JOIN records o ON o.channel_id = c.channel_id
           WHERE c.channel = of_channel AND permitted(of_channel, 'read')
             AND o.idx >= from_index AND o.idx < archive_rows_v1.until_index) r
   WHERE r.bytes <= max_bytes OR r.idx = from_index ORDER BY r.idx
$$;

-- Locks the archive of a channel for writing files, one process at a time, until the end of its transaction. Out: how
-- far it reaches, and the erased records of the stretch that begins at an index (null: no such stretch).
CREATE FUNCTION archive_lock_v1(of_channel text, at_stretch bigint) RETURNS TABLE (archived bigint, until_index bigint, erased bigint[])
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

-- Removes records from the table that are in a file which was read back. erased: those without content in the file; if
-- that has changed, nothing is done (serialization_failure), and the file must be written again.
CREATE FUNCTION archive_records_v1(of_channel text, from_index bigint, new_until bigint, new_salt bytea, without_content bigint[])
RETURNS void
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
  IF ARRAY(SELECT idx FROM records WHERE channel_id = ours AND idx >= from_index AND idx < new_until AND salt IS NULL
            ORDER BY idx) <> without_content THEN
    RAISE EXCEPTION 'a record was erased meanwhile' USING ERRCODE = 'serialization_failure';
  END IF;
  INSERT INTO archived (channel_id, first_index, until_index, ids, types, transactions, salt, contents)
    SELECT ours, from_index, new_until, array_agg(r.id ORDER BY r.idx), array_agg(r.type ORDER BY r.idx),
           string_agg(r.transaction_id, ''::bytea ORDER BY r.idx), new_salt,
           string_agg(CASE WHEN r.salt IS NULL THEN decode(repeat('00', 32), 'hex')
                           ELSE archived_content(new_salt, r.idx, r.type, r.owner, r.data, r.extra) END,
                      ''::bytea ORDER BY r.idx)
      FROM records r WHERE r.channel_id = ours AND r.idx >= from_index AND r.idx < new_until;
  DELETE FROM records WHERE channel_id = ours AND idx >= from_index AND idx < new_until;
  GET DIAGNOSTICS counted = ROW_COUNT;
  IF counted <> new_until - from_index THEN
    RAISE EXCEPTION 'records % to % are not all there', from_index, new_until - 1 USING ERRCODE = 'data_corrupted';
  END IF;
END $$;

-- Stretches, in channels that the caller may erase in, whose file still holds erased content.
CREATE FUNCTION unwritten_erasures_v1() RETURNS TABLE (channel text, first_index bigint)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = ledger, pg_temp SET jit = off AS $$
  SELECT DISTINCT c.channel, stretch_of(c.channel_id, w.idx)
    FROM unwritten_erasures w JOIN channels c USING (channel_id) WHERE has_right(c.channel, 'erase') ORDER BY 1, 2
$$;

-- The file of the stretch no longer holds the content of these records, which were erased when it was locked.
CREATE FUNCTION erasures_written_v1(of_channel text, written bigint[]) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = ledger, pg_temp SET jit = off AS $$
  DELETE FROM unwritten_erasures
   WHERE channel_id = (SELECT channel_id FROM channels WHERE channel = of_channel) AND idx = ANY (written)
     AND permitted(of_channel, 'erase')
$$;

-- For the audit: how far the archive reaches by its own row, and its stretches from an index on.
CREATE FUNCTION audit_archived_v1(of_channel text, from_index bigint, at_most integer)
RETURNS TABLE (first_index bigint, until_index bigint, ids text[], types text[], transactions bytea, salt bytea, contents bytea,
               erased bigint[])
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = ledger, pg_temp SET jit = off AS $$
  SELECT a.first_index, a.until_index, a.ids, a.types, a.transactions, a.salt, a.contents,
         ARRAY(SELECT e.idx FROM erasures e
                WHERE e.channel_id = a.channel_id AND e.idx >= a.first_index AND e.idx < a.until_index ORDER BY e.idx)
    FROM channels c JOIN archived a USING (channel_id)
   WHERE c.channel = of_channel AND permitted(of_channel, 'audit') AND a.first_index >= from_index
   ORDER BY a.first_index LIMIT at_most
$$;

CREATE FUNCTION archived_until_v1(of_channel text) RETURNS bigint
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = ledger, pg_temp SET jit = off AS $$
  SELECT coalesce((SELECT u.upto FROM channels c JOIN archives u USING (channel_id)
                    WHERE c.channel = of_channel AND permitted(of_channel, 'audit')), 0)
$$;

CREATE OR REPLACE FUNCTION audit_ids_v1(of_channel text, seed bigint) RETURNS TABLE (idx bigint, id text)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = ledger, pg_temp SET jit = off AS $$
#variable_conflict use_column
DECLARE
  ours integer := (SELECT channel_id FROM channels WHERE channel = of_channel);
BEGIN
  PERFORM permitted(of_channel, 'audit');
  IF (SELECT sum(hashtextextended(w.id, seed # w.idx))
        FROM (SELECT r.id, r.idx FROM records r WHERE r.channel_id = ours
              UNION ALL
              SELECT a.id, a.idx FROM archived_types(ours, 0, 9223372036854775807) a) w)
     IS DISTINCT FROM
     (SELECT sum(hashtextextended(i.id, seed # i.idx)) FROM record_ids i WHERE i.channel_id = ours) THEN
    RETURN QUERY SELECT w.idx, w.id
      FROM (SELECT r.id, r.idx FROM records r WHERE r.channel_id = ours
            UNION ALL
            SELECT a.id, a.idx FROM archived_types(ours, 0, 9223372036854775807) a) w
      WHERE NOT EXISTS (SELECT 1 FROM record_ids i WHERE i.channel_id = ours AND i.id = w.id AND i.idx = w.idx)
      ORDER BY w.idx LIMIT 1;
  END IF;
END $$;

CREATE OR REPLACE FUNCTION audit_claims_v1(of_channel text, after_claim bytea, at_most integer)
RETURNS TABLE (claim_count bigint, last_claim bytea, bad_claim bytea, bad_id text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = ledger, pg_temp SET enable_seqscan = off SET jit = off AS $$
  WITH page AS (
    SELECT k.claim, w.ids[1] AS first_id,
           cardinality(w.ids) IS DISTINCT FROM k.record_count
           OR transaction_hash(k.nonce, k.claim, k.fingerprint, of_channel, k.note, w.ids) <> k.transaction_id AS is_bad
      FROM (SELECT l.*, coalesce(u.upto, 0) AS archived FROM claims l JOIN channels c USING (channel_id)
                   LEFT JOIN archives u USING (channel_id)
             WHERE c.channel = of_channel AND l.claim > after_claim ORDER BY l.claim LIMIT at_most) k
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

CREATE OR REPLACE FUNCTION audit_types_v1(of_channel text) RETURNS bigint
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

-- Down Migration

DO $$
BEGIN
  IF EXISTS (SELECT 1 FROM archived) THEN
    RAISE EXCEPTION 'records lie in the files of an archive, where the version before does not look for them';
  END IF;
END $$;

DROP FUNCTION record_v2, query_v2, archive_state_v1, archive_rows_v1, archive_lock_v1, archive_records_v1, unwritten_erasures_v1,
  erasures_written_v1, audit_archived_v1, archived_until_v1;
DO $$
DECLARE
  replaced record;
BEGIN
  FOR replaced IN SELECT definition FROM migrations_0014_replaced LOOP
    EXECUTE replaced.definition;
  END LOOP;
END $$;
DROP FUNCTION archive_refusal, archived_types, archived_record, holds_content, stretch_of, archived_content, refuse_archived;
DROP TABLE unwritten_erasures, archives, archived, migrations_0014_replaced;
