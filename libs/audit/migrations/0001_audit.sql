-- Up Migration

-- What happened, who did it: never changed. Every event has its place in a chain and a MAC by a key of the server
-- secrets, so that rows written, back-dated or removed with the rights of the run-time role are named by readers.
CREATE TABLE audit_events (
  id text PRIMARY KEY,
  at timestamptz(3) NOT NULL,
  actor text NOT NULL,
  action text NOT NULL,
  resource text NOT NULL,
  resource_id text NOT NULL,
  request_id text,
  -- Canonical JSON as text: jsonb refuses U+0000 and rewrites numbers.
  detail text,
  -- The place in the chain of its lane. Null, like what follows, on rows that no process of this service wrote.
  lane smallint,
  seq bigint,
  -- JSON: the event before in this lane, and the newest committed one of each other lane that moved lately.
  heads text,
  -- HMAC-SHA256 of the event's hash, with the server secret of this id.
  mac bytea,
  secret_id text,
  -- What a row must be so that every reader can show it. No index refuses a second row of one number: it would let one
  -- forged row stop all audited changes.
  CONSTRAINT audit_events_time CHECK (at >= 'epoch' AND at < '10000-01-01 00:00:00+00'),
  CONSTRAINT audit_events_detail CHECK (detail IS NULL OR (octet_length(detail) <= 65536 AND detail::json IS NOT NULL)),
  CONSTRAINT audit_events_texts CHECK (id ~ '^[!-~]{1,64}$' AND greatest(octet_length(actor), octet_length(action),
    octet_length(resource), octet_length(resource_id), octet_length(request_id)) <= 4096),
  CONSTRAINT audit_events_link CHECK (num_nulls(lane, seq, heads, mac, secret_id) IN (0, 5)
    AND octet_length(mac) = 32 AND octet_length(secret_id) <= 32 AND octet_length(heads) <= 16384
    AND lane BETWEEN 1 AND 64 AND seq BETWEEN 1 AND 9007199254740991)
);

CREATE INDEX audit_events_by_time ON audit_events (at, id);
-- What lists are filtered by, each in the order of the list.
CREATE INDEX audit_events_by_actor ON audit_events (actor, at, id);
CREATE INDEX audit_events_by_action ON audit_events (action, at, id);
CREATE INDEX audit_events_of_resource ON audit_events (resource, resource_id, at, id);
CREATE INDEX audit_events_of_request ON audit_events (request_id) WHERE request_id IS NOT NULL;

CREATE FUNCTION refuse_audit_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'audit events are never changed' USING ERRCODE = 'insufficient_privilege';
END
$$;

CREATE TRIGGER audit_events_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON audit_events
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_audit_change();
-- Also in a session with session_replication_role = replica.
ALTER TABLE audit_events ENABLE ALWAYS TRIGGER audit_events_append_only;

-- The end of each chain. A transaction that records an event takes a free lane (FOR UPDATE SKIP LOCKED) and keeps it until
-- it ends, so transactions never wait for one another, and a rollback leaves no gap.
CREATE TABLE audit_lanes (
  lane smallint PRIMARY KEY CHECK (lane BETWEEN 1 AND 64),
  seq  bigint NOT NULL DEFAULT 0 CHECK (seq BETWEEN 0 AND 9007199254740991),
  -- Of the newest event of the lane; null before the first. The MAC covers all other columns: an end whose MAC is wrong is
  -- not followed, and its time not kept to.
  at        timestamptz(3),
  hash      bytea CHECK (octet_length(hash) = 32),
  mac       bytea CHECK (octet_length(mac) = 32),
  secret_id text CHECK (octet_length(secret_id) <= 32),
  CONSTRAINT audit_lanes_times CHECK (at >= 'epoch' AND at < '10000-01-01 00:00:00+00')
) WITH (fillfactor = 50);
INSERT INTO audit_lanes (lane) SELECT generate_series(1, 64);

CREATE TRIGGER audit_lanes_kept BEFORE DELETE OR TRUNCATE ON audit_lanes
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_audit_change();
-- A lane moves on by one event at a time, and never back.
CREATE TRIGGER audit_lanes_forward BEFORE UPDATE ON audit_lanes FOR EACH ROW
  WHEN (NEW.lane <> OLD.lane OR NEW.seq <> OLD.seq + 1) EXECUTE FUNCTION refuse_audit_change();
ALTER TABLE audit_lanes ENABLE ALWAYS TRIGGER audit_lanes_kept, ENABLE ALWAYS TRIGGER audit_lanes_forward;

-- What people who signed in are called, as their newest access token said: for display, beside the actors of events.
CREATE TABLE actor_names (
  actor text PRIMARY KEY COLLATE "C" CHECK (octet_length(actor) <= 4096),
  name  text NOT NULL CHECK (char_length(name) BETWEEN 1 AND 200)
);

-- The server secrets in use, by id only. check_value distinguishes two values of one id without revealing either.
-- last_made_at is the last time something was made with it, to the minute; null if it was only used to verify.
CREATE TABLE server_secrets (
  secret_id     text PRIMARY KEY COLLATE "C",
  check_value   text NOT NULL,
  first_seen_at timestamptz(3) NOT NULL,
  last_made_at  timestamptz(3),
  -- Here and below: what no reader could show would make the report of all secrets fail.
  CONSTRAINT server_secrets_times CHECK (
    least(first_seen_at, last_made_at) >= 'epoch' AND greatest(first_seen_at, last_made_at) < '10000-01-01 00:00:00+00')
);

-- The secrets of each process, recorded once a minute: the first id is the active one. accepts: the tokens and keys that
-- it accepts, as VARIABLE:first digits of the hash.
CREATE TABLE secret_holders (
  process text PRIMARY KEY COLLATE "C",
  ids     text[] NOT NULL,
  seen_at timestamptz(3) NOT NULL,
  accepts text[],
  CONSTRAINT secret_holders_lists CHECK (coalesce(array_ndims(ids), 1) = 1 AND coalesce(array_ndims(accepts), 1) = 1
    AND array_position(ids, NULL) IS NULL AND array_position(accepts, NULL) IS NULL),
  CONSTRAINT secret_holders_times CHECK (seen_at >= 'epoch' AND seen_at < '10000-01-01 00:00:00+00')
);

-- When each of them was last presented, to the minute; no row if never.
CREATE TABLE accepted_secrets (
  name         text PRIMARY KEY COLLATE "C",
  last_used_at timestamptz(3) NOT NULL,
  CONSTRAINT accepted_secrets_times CHECK (last_used_at >= 'epoch' AND last_used_at < '10000-01-01 00:00:00+00')
);

-- Down Migration

DROP TABLE accepted_secrets, secret_holders, server_secrets, actor_names, audit_lanes, audit_events;
DROP FUNCTION refuse_audit_change;
