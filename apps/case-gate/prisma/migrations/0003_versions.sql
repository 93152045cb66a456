-- Up Migration

-- Incremented by each change of a policy version, which is also a ledger record, as for subjects, venues and keys. 0
-- for versions made before: their MAC covers the other columns, and they are valid until the ledger holds another
-- version. Keys have theirs in `grants`.
ALTER TABLE policies ADD COLUMN record_version integer NOT NULL DEFAULT 0;

-- Down Migration

ALTER TABLE policies DROP COLUMN record_version;
