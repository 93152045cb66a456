-- Up Migration

-- The time of the last record of a stretch, needed by declared losses and their review for archived records, too. Null
-- for stretches archived by the previous version.
ALTER TABLE archived ADD COLUMN last_at_ms bigint;

-- For the Down migration: the original definitions of the functions replaced below.
CREATE TABLE migrations_0018_replaced AS
  SELECT p.proname, pg_get_functiondef(p.oid) AS definition FROM pg_proc p
   WHERE p.pronamespace = 'ledger'::regnamespace
     AND p.proname IN ('archive_records_v1', 'halts_v2', 'declare_loss_v1', 'audit_logs_v1');

-- The time of the record before an index; null if there is none. For a record in the middle of a stretch, or in a
-- stretch without a time: that of the newest earlier archived record with one. A time that is too early counts more
-- records as lost, never fewer.
CREATE FUNCTION written_before(of_channel integer, at_index bigint) RETURNS bigint
LANGUAGE sql STABLE SET search_path = ledger, pg_temp AS $$
  SELECT coalesce(
    (SELECT r.at_ms FROM records r WHERE r.channel_id = of_channel AND r.idx = at_index - 1),
    (SELECT a.last_at_ms FROM archived a
      WHERE a.channel_id = of_channel AND a.until_index <= at_index AND a.last_at_ms IS NOT NULL
      ORDER BY a.first_index DESC LIMIT 1))
$$;

-- As audit_archived_v1, with that time.
CREATE FUNCTION audit_archived_v2(of_channel text, from_index bigint, at_most integer)
RETURNS TABLE (first_index bigint, until_index bigint, ids text[], types text[], transactions bytea, salt bytea, contents bytea,
               erased bigint[], last_at_ms bigint)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = ledger, pg_temp SET jit = off AS $$
  SELECT v.*, (SELECT a.last_at_ms FROM archived a JOIN channels c USING (channel_id)
                WHERE c.channel = of_channel AND a.first_index = v.first_index)
    FROM audit_archived_v1(of_channel, from_index, at_most) v ORDER BY v.first_index
$$;

DO $$
DECLARE
  change record;
  before text;
BEGIN
  FOR change IN SELECT * FROM (VALUES
    ('archive_records_v1', 'INSERT INTO archived (channel_id, first_index, until_index, ids, types, transactions, salt, contents)',
     'INSERT INTO archived (channel_id, first_index, until_index, ids, types, transactions, salt, contents, last_at_ms)'),
    ('archive_records_v1', '                      ''''::bytea ORDER BY r.idx)
      FROM records r',
     '                      ''''::bytea ORDER BY r.idx), max(r.at_ms) FILTER (WHERE r.idx = new_until - 1)
      FROM records r'),
    ('halts_v2', '(SELECT r.at_ms FROM jsonb_array_elements(h.told) o
            JOIN records r ON r.channel_id = h.channel_id AND r.idx = (o ->> ''lostFrom'')::bigint + l.shift - 1
           WHERE',
     '(SELECT written_before(h.channel_id, (o ->> ''lostFrom'')::bigint + l.shift) FROM jsonb_array_elements(h.told) o
           WHERE'),
    ('declare_loss_v1', '(SELECT at_ms FROM records WHERE channel_id = ours.channel_id AND idx = first - 1)',
     'written_before(ours.channel_id, first)'),
    -- 0 was entered where that record was archived and the version before declared the loss.
    ('audit_logs_v1', 'e.kept_at_ms = coalesce((SELECT r.at_ms FROM records r
                                            WHERE r.channel_id = l.channel_id AND r.idx = f.first - 1), 0)',
     'e.kept_at_ms IN (coalesce(written_before(l.channel_id, f.first), 0),
                                    CASE WHEN stretch_of(l.channel_id, f.first - 1) IS NOT NULL THEN 0 END)')) c (name, old, new)
  LOOP
    SELECT pg_get_functiondef(p.oid) INTO before FROM pg_proc p
     WHERE p.pronamespace = 'ledger'::regnamespace AND p.proname = change.name;
    IF strpos(before, change.old) = 0 THEN
      RAISE EXCEPTION '% is not what it is expected to be: %', change.name, change.old;
    END IF;
    EXECUTE replace(before, change.old, change.new);
  END LOOP;
END $$;

-- Down Migration

DO $$
DECLARE
  replaced record;
BEGIN
  FOR replaced IN SELECT definition FROM migrations_0018_replaced LOOP
    EXECUTE replaced.definition;
  END LOOP;
END $$;
DROP FUNCTION audit_archived_v2, written_before;
DROP TABLE migrations_0018_replaced;
ALTER TABLE archived DROP COLUMN last_at_ms;
