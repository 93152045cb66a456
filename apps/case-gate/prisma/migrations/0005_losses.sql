-- Up Migration

-- Subjects that wait for a confirmation, for the list of them; see readUnconfirmed. The document is canonical JSON, in which
-- a quote inside a string has a backslash before it, so this is the member and no text of a caller.
CREATE INDEX eligibility_unconfirmed ON eligibility (environment, subject_ref)
  WHERE status <> 'revoked' AND strpos(document, '"unconfirmed":"') > 0;

-- Declared losses of the ledger whose subjects, keys, venues, policy versions and seals were looked through. Nothing is
-- decided by it: taking a row out has everything looked through again, and a row too many leaves the list incomplete.
CREATE TABLE reviewed_losses (
  epoch       integer PRIMARY KEY,
  reviewed_at timestamptz(3) NOT NULL
);

-- Down Migration

DROP TABLE reviewed_losses;
DROP INDEX eligibility_unconfirmed;
