-- Up Migration

-- A row at a time that no reader could show would hide all other identities. Rows that are there already are removed:
-- an identity is written again when it is next seen.
DELETE FROM unlinked_identities WHERE last_seen_at < 'epoch' OR last_seen_at >= '10000-01-01 00:00:00+00';
ALTER TABLE unlinked_identities
  ADD CONSTRAINT unlinked_identities_times CHECK (last_seen_at >= 'epoch' AND last_seen_at < '10000-01-01 00:00:00+00')
    NOT VALID;

-- Down Migration

ALTER TABLE unlinked_identities DROP CONSTRAINT unlinked_identities_times;
