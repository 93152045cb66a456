-- Up Migration

-- The journal of the Fabric driver: one row per transaction, written after its endorsement and before it is submitted.
-- Without a row nothing can have been ordered. With a row the same bytes may be sent again, any number of times.

-- One row per process that sends. A process that is silent for longer than its lease is considered dead, and its
-- transactions are taken over. Only the clock of the database is used.
CREATE TABLE fabric_holders (
  holder      uuid        PRIMARY KEY,
  alive_until timestamptz NOT NULL
);

-- status: unsettled -> committed | invalid | refused, once. While unsettled, request holds the signed Submit request;
-- once committed, result holds the return value. from_block: the newest block of the channel that its process had seen,
-- so the transaction is in a later one; null if it had seen none.
CREATE TABLE fabric_transactions (
  transaction_id bytea       PRIMARY KEY,
  holder         uuid        NOT NULL,
  channel        text        NOT NULL COLLATE "C",
  reference      text        COLLATE "C",
  note           text        COLLATE "C",
  claim          bytea,
  from_block     bigint,
  status         text        NOT NULL DEFAULT 'unsettled' COLLATE "C",
  detail         text        COLLATE "C",
  block_number   bigint,
  request        bytea,
  result         bytea,
  begun_at       timestamptz NOT NULL DEFAULT clock_timestamp(),
  settled_at     timestamptz
);

-- Signatures and certificates do not compress.
ALTER TABLE fabric_transactions ALTER COLUMN request SET STORAGE EXTERNAL;

CREATE INDEX fabric_transactions_unsettled ON fabric_transactions (holder) WHERE settled_at IS NULL;
CREATE INDEX fabric_transactions_reference ON fabric_transactions (reference) WHERE reference IS NOT NULL;
CREATE INDEX fabric_transactions_settled ON fabric_transactions (settled_at) WHERE settled_at IS NOT NULL;

-- Idempotency claims: one owner over all channels. A claim is taken in the statement that journals its transaction, and
-- released in the statement that settles it as anything but committed. A claim whose transaction is no longer in the
-- journal was therefore committed.
CREATE TABLE fabric_claims (
  claim          bytea       PRIMARY KEY,
  fingerprint    text        NOT NULL COLLATE "C",
  transaction_id bytea       NOT NULL,
  channel        text        NOT NULL COLLATE "C",
  note           text        NOT NULL COLLATE "C",
  receipts       text        NOT NULL COLLATE "C",
  made_at        timestamptz NOT NULL DEFAULT clock_timestamp()
);

CREATE INDEX fabric_claims_made ON fabric_claims (made_at);
