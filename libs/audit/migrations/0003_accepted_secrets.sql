-- Up Migration

-- Tokens and keys that a process accepts, as VARIABLE:first digits of the hash; null for a version that does not report them.
ALTER TABLE secret_holders ADD COLUMN accepts text[];

-- When each of them was last presented, to the minute; no row if never.
CREATE TABLE accepted_secrets (
  name         text PRIMARY KEY COLLATE "C",
  last_used_at timestamptz(3) NOT NULL
);

-- Down Migration

DROP TABLE accepted_secrets;
ALTER TABLE secret_holders DROP COLUMN accepts;
