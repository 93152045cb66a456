-- Up Migration

-- For the list of unconfirmed subjects; see readUnconfirmed. The document is canonical JSON, in which a quote inside a
-- string is escaped, so this matches the member only, never a client's text.
CREATE INDEX eligibility_unconfirmed ON eligibility (environment, subject_ref)
  WHERE status <> 'revoked' AND strpos(document, '"unconfirmed":"') > 0;

-- Declared ledger losses that were reviewed (subjects, keys, venues, policy versions and seals). Decides nothing:
-- deleting a row repeats the review, and a forged one leaves the list incomplete.
CREATE TABLE reviewed_losses (
  epoch       integer PRIMARY KEY,
  reviewed_at timestamptz(3) NOT NULL
);

-- Down Migration

DROP TABLE reviewed_losses;
DROP INDEX eligibility_unconfirmed;
