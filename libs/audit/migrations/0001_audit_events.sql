-- Up Migration

CREATE TABLE audit_events (
  id text PRIMARY KEY,
  at timestamptz(3) NOT NULL,
  actor text NOT NULL,
  action text NOT NULL,
  resource text NOT NULL,
  resource_id text NOT NULL,
  request_id text,
  -- Canonical JSON as text: jsonb refuses U+0000 and rewrites numbers.
  detail text
);

CREATE INDEX audit_events_by_time ON audit_events (at, id);

CREATE FUNCTION refuse_audit_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'audit events are never changed' USING ERRCODE = 'insufficient_privilege';
END
$$;

CREATE TRIGGER audit_events_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON audit_events
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_audit_change();
-- Also in a session with session_replication_role = replica.
ALTER TABLE audit_events ENABLE ALWAYS TRIGGER audit_events_append_only;

-- Down Migration
DROP TABLE audit_events;
DROP FUNCTION refuse_audit_change();
