-- Up Migration

-- Rows that no reader could show are refused, so that one of them cannot make a list of the others fail: a time that is
-- none or beyond what RFC 3339 can say, and a text that is no JSON. NOT VALID: rows that are there already are left alone.
ALTER TABLE jobs
  ADD CONSTRAINT jobs_times CHECK (greatest(lease_until, not_before, created_at, done_at) < '10001-01-01 00:00:00+00' AND least(lease_until, not_before, created_at, done_at) > '-infinity') NOT VALID;

-- Down Migration

ALTER TABLE jobs DROP CONSTRAINT jobs_times;
