-- Up Migration

-- Which server secrets are in use, by id alone. check_value tells two secrets of one id apart, and nothing of either.
-- last_made_at is within a minute of the last thing that was made with it; null where it has only checked so far.
CREATE TABLE server_secrets (
  secret_id     text PRIMARY KEY COLLATE "C",
  check_value   text NOT NULL,
  first_seen_at timestamptz(3) NOT NULL,
  last_made_at  timestamptz(3)
);

-- What each process has, told by it once a minute. The first of the ids makes.
CREATE TABLE secret_holders (
  process text PRIMARY KEY COLLATE "C",
  ids     text[] NOT NULL,
  seen_at timestamptz(3) NOT NULL
);

-- Down Migration

DROP TABLE secret_holders, server_secrets;
