-- Up Migration

-- Rows that no reader could show are refused, so that one of them cannot make a list of the others fail: a time that is
-- none or beyond what RFC 3339 can say, and a text that is no JSON. NOT VALID: rows that are there already are left alone.
ALTER TABLE orgs
  ADD CONSTRAINT orgs_times CHECK (greatest(created_at, revised_at) < '10001-01-01 00:00:00+00' AND least(created_at, revised_at) > '-infinity') NOT VALID;
ALTER TABLE people
  ADD CONSTRAINT people_times CHECK (greatest(created_at, removed_at) < '10001-01-01 00:00:00+00' AND least(created_at, removed_at) > '-infinity') NOT VALID;
ALTER TABLE resources
  ADD CONSTRAINT resources_times CHECK (greatest(created_at, updated_at, valid_until) < '10001-01-01 00:00:00+00' AND least(created_at, updated_at, valid_until) > '-infinity') NOT VALID,
  ADD CONSTRAINT resources_json CHECK (doc::json IS NOT NULL AND item::json IS NOT NULL) NOT VALID;
ALTER TABLE frameworks
  ADD CONSTRAINT frameworks_times CHECK (created_at < '10001-01-01 00:00:00+00' AND created_at > '-infinity') NOT VALID,
  ADD CONSTRAINT frameworks_json CHECK (item::json IS NOT NULL) NOT VALID;
ALTER TABLE requirements
  ADD CONSTRAINT requirements_times CHECK (created_at < '10001-01-01 00:00:00+00' AND created_at > '-infinity') NOT VALID;
ALTER TABLE revisions
  ADD CONSTRAINT revisions_times CHECK (created_at < '10001-01-01 00:00:00+00' AND created_at > '-infinity') NOT VALID;
ALTER TABLE evidence_facts
  ADD CONSTRAINT evidence_facts_times CHECK (greatest(valid_until, fresh_at) < '10001-01-01 00:00:00+00' AND least(valid_until, fresh_at) > '-infinity') NOT VALID;
ALTER TABLE anchors
  -- Infinity: not before somebody acts.
  ADD CONSTRAINT anchors_due CHECK (due_at > '-infinity') NOT VALID,
  ADD CONSTRAINT anchors_times CHECK (created_at < '10001-01-01 00:00:00+00' AND created_at > '-infinity') NOT VALID,
  ADD CONSTRAINT anchors_json CHECK (data::json IS NOT NULL) NOT VALID;
ALTER TABLE proofs
  ADD CONSTRAINT proofs_times CHECK (created_at < '10001-01-01 00:00:00+00' AND created_at > '-infinity') NOT VALID,
  ADD CONSTRAINT proofs_json CHECK (item::json IS NOT NULL) NOT VALID;
ALTER TABLE signing_keys
  ADD CONSTRAINT signing_keys_times CHECK (first_used_at < '10001-01-01 00:00:00+00' AND first_used_at > '-infinity') NOT VALID,
  ADD CONSTRAINT signing_keys_json CHECK (jwk::json IS NOT NULL) NOT VALID;
ALTER TABLE identities
  ADD CONSTRAINT identities_times CHECK (greatest(created_at, expires_at, removed_at) < '10001-01-01 00:00:00+00' AND least(created_at, expires_at, removed_at) > '-infinity') NOT VALID;

-- Down Migration

ALTER TABLE orgs DROP CONSTRAINT orgs_times;
ALTER TABLE people DROP CONSTRAINT people_times;
ALTER TABLE resources DROP CONSTRAINT resources_times, DROP CONSTRAINT resources_json;
ALTER TABLE frameworks DROP CONSTRAINT frameworks_times, DROP CONSTRAINT frameworks_json;
ALTER TABLE requirements DROP CONSTRAINT requirements_times;
ALTER TABLE revisions DROP CONSTRAINT revisions_times;
ALTER TABLE evidence_facts DROP CONSTRAINT evidence_facts_times;
ALTER TABLE anchors DROP CONSTRAINT anchors_due, DROP CONSTRAINT anchors_times, DROP CONSTRAINT anchors_json;
ALTER TABLE proofs DROP CONSTRAINT proofs_times, DROP CONSTRAINT proofs_json;
ALTER TABLE signing_keys DROP CONSTRAINT signing_keys_times, DROP CONSTRAINT signing_keys_json;
ALTER TABLE identities DROP CONSTRAINT identities_times;
