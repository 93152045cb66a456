-- Up Migration

-- The server secrets in use, by id only. check_value distinguishes two values of one id without revealing either.
-- last_made_at is the last time something was made with it, to the minute; null if it was only used to verify.
CREATE TABLE server_secrets (
  secret_id     text PRIMARY KEY COLLATE "C",
  check_value   text NOT NULL,
  first_seen_at timestamptz(3) NOT NULL,
  last_made_at  timestamptz(3)
);

-- The secrets of each process, recorded once a minute. The first id is the active one.
CREATE TABLE secret_holders (
  process text PRIMARY KEY COLLATE "C",
  ids     text[] NOT NULL,
  seen_at timestamptz(3) NOT NULL
);

-- Down Migration

DROP TABLE secret_holders, server_secrets;
