-- Up Migration

-- Each change of a policy version is one more, and a ledger record, as it is for subjects, venues and keys. 0 is what was
-- made before: its MAC is over the other columns, and it counts until the ledger holds another version of it. Keys have
-- theirs in `grants`.
ALTER TABLE policies ADD COLUMN record_version integer NOT NULL DEFAULT 0;

-- Down Migration

ALTER TABLE policies DROP COLUMN record_version;
