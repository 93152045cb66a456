-- Up Migration

-- Rows that no reader could show are refused, so that one of them cannot make a list of the others fail: a time that is
-- none or beyond what RFC 3339 can say, and a text that is no JSON. NOT VALID: rows that are there already are left alone.
ALTER TABLE venues
  ADD CONSTRAINT venues_times CHECK (greatest(created_at, updated_at) < '10001-01-01 00:00:00+00' AND least(created_at, updated_at) > '-infinity') NOT VALID;
ALTER TABLE policies
  ADD CONSTRAINT policies_times CHECK (greatest(created_at, updated_at) < '10001-01-01 00:00:00+00' AND least(created_at, updated_at) > '-infinity') NOT VALID,
  ADD CONSTRAINT policies_json CHECK ((rules IS NULL OR rules::json IS NOT NULL)) NOT VALID;
ALTER TABLE cases
  ADD CONSTRAINT cases_times CHECK (greatest(decided_at, sealed_at, created_at, updated_at, expires_at) < '10001-01-01 00:00:00+00' AND least(decided_at, sealed_at, created_at, updated_at, expires_at) > '-infinity') NOT VALID,
  ADD CONSTRAINT cases_json CHECK (metadata::json IS NOT NULL) NOT VALID;
ALTER TABLE attachments
  ADD CONSTRAINT attachments_times CHECK (added_at < '10001-01-01 00:00:00+00' AND added_at > '-infinity') NOT VALID;
ALTER TABLE decisions
  ADD CONSTRAINT decisions_times CHECK (greatest(valid_until, decided_at) < '10001-01-01 00:00:00+00' AND least(valid_until, decided_at) > '-infinity') NOT VALID;
ALTER TABLE timeline
  ADD CONSTRAINT timeline_times CHECK (at < '10001-01-01 00:00:00+00' AND at > '-infinity') NOT VALID,
  ADD CONSTRAINT timeline_json CHECK (data::json IS NOT NULL) NOT VALID;
ALTER TABLE seals
  ADD CONSTRAINT seals_times CHECK (greatest(created_at, sealed_at) < '10001-01-01 00:00:00+00' AND least(created_at, sealed_at) > '-infinity') NOT VALID,
  ADD CONSTRAINT seals_json CHECK (document::json IS NOT NULL) NOT VALID;
ALTER TABLE outbox
  ADD CONSTRAINT outbox_times CHECK (next_attempt_at < '10001-01-01 00:00:00+00' AND next_attempt_at > '-infinity') NOT VALID,
  ADD CONSTRAINT outbox_json CHECK (data::json IS NOT NULL) NOT VALID;
ALTER TABLE eligibility
  ADD CONSTRAINT eligibility_times CHECK (changed_at < '10001-01-01 00:00:00+00' AND changed_at > '-infinity') NOT VALID,
  ADD CONSTRAINT eligibility_json CHECK (document::json IS NOT NULL) NOT VALID;
ALTER TABLE eligibility_history
  ADD CONSTRAINT eligibility_history_times CHECK (changed_at < '10001-01-01 00:00:00+00' AND changed_at > '-infinity') NOT VALID,
  ADD CONSTRAINT eligibility_history_json CHECK (document::json IS NOT NULL) NOT VALID;
ALTER TABLE claims
  ADD CONSTRAINT claims_times CHECK (created_at < '10001-01-01 00:00:00+00' AND created_at > '-infinity') NOT VALID;
ALTER TABLE gate_decisions
  ADD CONSTRAINT gate_decisions_times CHECK (evaluated_at < '10001-01-01 00:00:00+00' AND evaluated_at > '-infinity') NOT VALID;
ALTER TABLE reviewed_losses
  ADD CONSTRAINT reviewed_losses_times CHECK (reviewed_at < '10001-01-01 00:00:00+00' AND reviewed_at > '-infinity') NOT VALID;
ALTER TABLE loss_reviews
  ADD CONSTRAINT loss_reviews_times CHECK (leased_until < '10001-01-01 00:00:00+00' AND leased_until > '-infinity') NOT VALID;

-- Down Migration

ALTER TABLE venues DROP CONSTRAINT venues_times;
ALTER TABLE policies DROP CONSTRAINT policies_times, DROP CONSTRAINT policies_json;
ALTER TABLE cases DROP CONSTRAINT cases_times, DROP CONSTRAINT cases_json;
ALTER TABLE attachments DROP CONSTRAINT attachments_times;
ALTER TABLE decisions DROP CONSTRAINT decisions_times;
ALTER TABLE timeline DROP CONSTRAINT timeline_times, DROP CONSTRAINT timeline_json;
ALTER TABLE seals DROP CONSTRAINT seals_times, DROP CONSTRAINT seals_json;
ALTER TABLE outbox DROP CONSTRAINT outbox_times, DROP CONSTRAINT outbox_json;
ALTER TABLE eligibility DROP CONSTRAINT eligibility_times, DROP CONSTRAINT eligibility_json;
ALTER TABLE eligibility_history DROP CONSTRAINT eligibility_history_times, DROP CONSTRAINT eligibility_history_json;
ALTER TABLE claims DROP CONSTRAINT claims_times;
ALTER TABLE gate_decisions DROP CONSTRAINT gate_decisions_times;
ALTER TABLE reviewed_losses DROP CONSTRAINT reviewed_losses_times;
ALTER TABLE loss_reviews DROP CONSTRAINT loss_reviews_times;
