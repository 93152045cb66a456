-- Up Migration

-- A time that no reader could show is refused: one row would make the report of all secrets fail. Rows that are there
-- already get the time of now, because their process must still be able to update them; NOT VALID for those of old
-- versions written in between.
DELETE FROM secret_holders WHERE seen_at < 'epoch' OR seen_at >= '10000-01-01 00:00:00+00';
UPDATE server_secrets SET first_seen_at = now()
 WHERE first_seen_at < 'epoch' OR first_seen_at >= '10000-01-01 00:00:00+00';
UPDATE server_secrets SET last_made_at = now()
 WHERE last_made_at < 'epoch' OR last_made_at >= '10000-01-01 00:00:00+00';
UPDATE accepted_secrets SET last_used_at = now()
 WHERE last_used_at < 'epoch' OR last_used_at >= '10000-01-01 00:00:00+00';

ALTER TABLE server_secrets
  ADD CONSTRAINT server_secrets_times CHECK (least(first_seen_at, last_made_at) >= 'epoch'
    AND greatest(first_seen_at, last_made_at) < '10000-01-01 00:00:00+00') NOT VALID;
ALTER TABLE secret_holders
  ADD CONSTRAINT secret_holders_times CHECK (seen_at >= 'epoch' AND seen_at < '10000-01-01 00:00:00+00') NOT VALID;
ALTER TABLE accepted_secrets
  ADD CONSTRAINT accepted_secrets_times CHECK (last_used_at >= 'epoch' AND last_used_at < '10000-01-01 00:00:00+00')
    NOT VALID;
ALTER TABLE audit_lanes
  ADD CONSTRAINT audit_lanes_times CHECK (at >= 'epoch' AND at < '10000-01-01 00:00:00+00') NOT VALID;

-- Down Migration

ALTER TABLE server_secrets DROP CONSTRAINT server_secrets_times;
ALTER TABLE secret_holders DROP CONSTRAINT secret_holders_times;
ALTER TABLE accepted_secrets DROP CONSTRAINT accepted_secrets_times;
ALTER TABLE audit_lanes DROP CONSTRAINT audit_lanes_times;
