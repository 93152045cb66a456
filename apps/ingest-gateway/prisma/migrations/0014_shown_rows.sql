-- Up Migration

-- Rows that no reader could show are refused, so that one of them cannot make a list of the others fail: a time that is
-- none or beyond what RFC 3339 can say, and a text that is no JSON. NOT VALID: rows that are there already are left alone.
ALTER TABLE networks
  ADD CONSTRAINT networks_times CHECK (greatest(created_at, deleted_at) < '10001-01-01 00:00:00+00' AND least(created_at, deleted_at) > '-infinity') NOT VALID;
ALTER TABLE events
  ADD CONSTRAINT events_times CHECK (at < '10001-01-01 00:00:00+00' AND at > '-infinity') NOT VALID,
  ADD CONSTRAINT events_lists CHECK (jsonb_typeof(types) = 'array' AND jsonb_typeof(more) = 'array') NOT VALID;
ALTER TABLE sources
  ADD CONSTRAINT sources_times CHECK (greatest(created_at, changed_at, deleted_at) < '10001-01-01 00:00:00+00' AND least(created_at, changed_at, deleted_at) > '-infinity') NOT VALID,
  ADD CONSTRAINT sources_settings CHECK (jsonb_typeof(settings) = 'object') NOT VALID;
ALTER TABLE delivery_counts
  ADD CONSTRAINT delivery_counts_times CHECK (last_at < '10001-01-01 00:00:00+00' AND last_at > '-infinity') NOT VALID;

-- Down Migration

ALTER TABLE networks DROP CONSTRAINT networks_times;
ALTER TABLE events DROP CONSTRAINT events_times, DROP CONSTRAINT events_lists;
ALTER TABLE sources DROP CONSTRAINT sources_times, DROP CONSTRAINT sources_settings;
ALTER TABLE delivery_counts DROP CONSTRAINT delivery_counts_times;
