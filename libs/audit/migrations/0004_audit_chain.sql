-- Up Migration

-- Where each event stands in the chain of its lane, and the proof that a process with the server secrets wrote it. Null on
-- rows that no process of this version wrote.
ALTER TABLE audit_events
  ADD COLUMN lane      smallint,
  ADD COLUMN seq       bigint,
  -- JSON: the event before in this lane, and the newest committed one of each other lane that moved lately.
  ADD COLUMN heads     text,
  -- HMAC-SHA256 of the event's hash, with the server secret of this id.
  ADD COLUMN mac       bytea,
  ADD COLUMN secret_id text;

-- What a row must be so that every reader can show it. NOT VALID: rows that are there already may break it; readers name
-- them. No index refuses a second row of one number: it would let one forged row stop all audited changes.
ALTER TABLE audit_events
  ADD CONSTRAINT audit_events_time CHECK (at >= 'epoch' AND at < '10000-01-01 00:00:00+00') NOT VALID,
  ADD CONSTRAINT audit_events_detail CHECK (detail IS NULL OR (octet_length(detail) <= 65536 AND detail::json IS NOT NULL))
    NOT VALID,
  ADD CONSTRAINT audit_events_texts CHECK (id ~ '^[!-~]{1,64}$' AND greatest(octet_length(actor), octet_length(action),
    octet_length(resource), octet_length(resource_id), octet_length(request_id)) <= 4096) NOT VALID,
  ADD CONSTRAINT audit_events_link CHECK (num_nulls(lane, seq, heads, mac, secret_id) IN (0, 5)
    AND octet_length(mac) = 32 AND octet_length(secret_id) <= 32 AND octet_length(heads) <= 16384
    AND lane BETWEEN 1 AND 64 AND seq BETWEEN 1 AND 9007199254740991) NOT VALID;

-- The end of each chain. A transaction that records an event takes a free lane (FOR UPDATE SKIP LOCKED) and keeps it until
-- it ends, so transactions never wait for one another, and a rollback leaves no gap.
CREATE TABLE audit_lanes (
  lane smallint PRIMARY KEY CHECK (lane BETWEEN 1 AND 64),
  seq  bigint NOT NULL DEFAULT 0 CHECK (seq BETWEEN 0 AND 9007199254740991),
  -- Of the newest event of the lane; null before the first. An end whose MAC is wrong is not followed.
  at        timestamptz(3),
  hash      bytea CHECK (octet_length(hash) = 32),
  mac       bytea CHECK (octet_length(mac) = 32),
  secret_id text CHECK (octet_length(secret_id) <= 32)
) WITH (fillfactor = 50);
INSERT INTO audit_lanes (lane) SELECT generate_series(1, 64);

CREATE TRIGGER audit_lanes_kept BEFORE DELETE OR TRUNCATE ON audit_lanes
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_audit_change();
-- A lane moves on by one event at a time, and never back.
CREATE TRIGGER audit_lanes_forward BEFORE UPDATE ON audit_lanes FOR EACH ROW
  WHEN (NEW.lane <> OLD.lane OR NEW.seq <> OLD.seq + 1) EXECUTE FUNCTION refuse_audit_change();
ALTER TABLE audit_lanes ENABLE ALWAYS TRIGGER audit_lanes_kept, ENABLE ALWAYS TRIGGER audit_lanes_forward;

-- Down Migration

DROP TABLE audit_lanes;
ALTER TABLE audit_events DROP COLUMN lane, DROP COLUMN seq, DROP COLUMN heads, DROP COLUMN mac,
  DROP COLUMN secret_id, DROP CONSTRAINT audit_events_time, DROP CONSTRAINT audit_events_detail,
  DROP CONSTRAINT audit_events_texts;
