-- Up Migration

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
  upto       bigint NOT NULL
);

CREATE FUNCTION index_types_v1(of_channel text, at_most integer) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = ledger, pg_temp AS $$
DECLARE
  ours    channels%ROWTYPE;
  reached bigint;
BEGIN
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

-- By id in code point order (the order of UTF-8 bytes).
CREATE FUNCTION query_v1(of_channel text, of_type text, after_id text, at_most integer)
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
   WHERE c.channel = of_channel
   ORDER BY r.id
$$;

-- The first record that record_types lacks or that differs from records.
CREATE FUNCTION audit_types_v1(of_channel text) RETURNS bigint
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = ledger, pg_temp AS $$
  SELECT least(
    (SELECT min(t.idx) FROM channels c JOIN record_types t USING (channel_id)
      WHERE c.channel = of_channel AND NOT EXISTS (SELECT 1 FROM records r
        WHERE r.channel_id = t.channel_id AND r.idx = t.idx AND r.id = t.id AND r.type = t.type)),
    (SELECT coalesce(u.upto, 0) FROM channels c LEFT JOIN record_types_upto u USING (channel_id)
      WHERE c.channel = of_channel
        AND coalesce(u.upto, 0) <> (SELECT count(*) FROM record_types t WHERE t.channel_id = c.channel_id)))
$$;

-- Down Migration

DROP FUNCTION index_types_v1, query_v1, audit_types_v1;
DROP TABLE record_types, record_types_upto;
