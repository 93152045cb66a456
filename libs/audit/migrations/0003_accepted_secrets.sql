-- Up Migration

-- Tokens and keys that a process accepts, as VARIABLE:first digits of the hash; null of a version that does not tell.
ALTER TABLE secret_holders ADD COLUMN accepts text[];

-- When each of them was last presented, to the minute; not there where it never was.
CREATE TABLE accepted_secrets (
  name         text PRIMARY KEY COLLATE "C",
  last_used_at timestamptz(3) NOT NULL
);

-- Down Migration

DROP TABLE accepted_secrets;
ALTER TABLE secret_holders DROP COLUMN accepts;
