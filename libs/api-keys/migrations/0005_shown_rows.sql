-- Up Migration

-- Rows that no reader could show are refused, so that one of them cannot make a list of the others fail: a time that is
-- none or beyond what RFC 3339 can say, and a text that is no JSON. NOT VALID: rows that are there already are left alone.
ALTER TABLE api_keys
  ADD CONSTRAINT api_keys_times CHECK (greatest(created_at, expires_at, revoked_at, last_used_at, overlap_until) < '10001-01-01 00:00:00+00' AND least(created_at, expires_at, revoked_at, last_used_at, overlap_until) > '-infinity') NOT VALID;

-- Down Migration

ALTER TABLE api_keys DROP CONSTRAINT api_keys_times;
