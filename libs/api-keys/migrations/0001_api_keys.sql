-- Up Migration

-- The keys of one surface. A key is live while it is not revoked, `expires_at` has not come, and, once another key
-- has replaced it, `overlap_until` has not come.
CREATE TABLE api_keys (
  id text PRIMARY KEY,
  owner_id text NOT NULL,
  -- Shared by a key and all its replacements: idempotent replays survive a rotation.
  family_id text NOT NULL,
  label text NOT NULL,
  key_prefix text NOT NULL,
  -- SHA-256 of the raw key, which is stored nowhere. Looked up on every request by this index.
  key_hash bytea NOT NULL CONSTRAINT api_keys_key_hash UNIQUE CHECK (octet_length(key_hash) = 32),
  grants jsonb NOT NULL,
  created_at timestamptz(3) NOT NULL,
  expires_at timestamptz(3),
  revoked_at timestamptz(3),
  last_used_at timestamptz(3),
  -- A key is replaced once.
  replaces text CONSTRAINT api_keys_replaces UNIQUE REFERENCES api_keys (id),
  overlap_until timestamptz(3),
  -- Id, label and prefix, as `q` of the list searches them. An owner has few enough keys to read all of them for a word.
  folded text NOT NULL DEFAULT '' COLLATE "C",
  -- Times that RFC 3339 can say: a row that no reader could show would make the list of all others fail.
  CONSTRAINT api_keys_times CHECK (
    least(created_at, expires_at, revoked_at, last_used_at, overlap_until) >= '0001-01-01 00:00:00+00'
    AND greatest(created_at, expires_at, revoked_at, last_used_at, overlap_until) < '10000-01-01 00:00:00+00')
) WITH (fillfactor = 80); -- Room for HOT updates of `last_used_at`, which changes every minute.

CREATE INDEX api_keys_by_owner ON api_keys (owner_id, created_at, id);

-- Down Migration

DROP TABLE api_keys;
