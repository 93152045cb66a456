-- Up Migration

-- The journal of the Fabric driver: one row per transaction, written after its endorsement and before it is submitted.
-- Without a row nothing can have been ordered. With a row the same bytes may be sent again, any number of times.
-- Times that never come are refused everywhere: a holder alive for ever would keep its transactions from being taken
-- over, and a row settled or made at no time would never be removed.

-- One row per process that sends. A process that is silent for longer than its lease is considered dead, and its
-- transactions are taken over. Only the clock of the database is used.
CREATE TABLE fabric_holders (
  holder      uuid        PRIMARY KEY,
  alive_until timestamptz NOT NULL,
  CONSTRAINT fabric_holders_times CHECK (alive_until >= 'epoch' AND alive_until < '10000-01-01 00:00:00+00')
);

-- status: unsettled -> committed | invalid | refused, once. While unsettled, request holds the signed Submit request;
-- once committed, result holds the return value. withdrawn: the row takes the place of a transaction that was never
-- journalled, so it is never sent. from_block: the newest block of the channel that its process had seen, so the
-- transaction is in a later one; null if it had seen none. identity: the name, in the connection file, of who signed it;
-- null for a withdrawn one.
CREATE TABLE fabric_transactions (
  transaction_id bytea       PRIMARY KEY,
  holder         uuid        NOT NULL,
  channel        text        NOT NULL COLLATE "C",
  identity       text        COLLATE "C",
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
  settled_at     timestamptz,
  CONSTRAINT fabric_transactions_times CHECK (
    least(begun_at, settled_at) >= 'epoch' AND greatest(begun_at, settled_at) < '10000-01-01 00:00:00+00')
);
-- Signatures and certificates do not compress. (CREATE TABLE has STORAGE from PostgreSQL 16 on only.)
ALTER TABLE fabric_transactions ALTER COLUMN request SET STORAGE EXTERNAL;

CREATE INDEX fabric_transactions_unsettled ON fabric_transactions (holder) WHERE settled_at IS NULL;
CREATE INDEX fabric_transactions_settled ON fabric_transactions (settled_at) WHERE settled_at IS NOT NULL;
-- A reference names one piece of work, and at most one transaction of it may have an effect: a second one is refused by
-- this index, whichever process writes it, until the first is known to have none.
CREATE UNIQUE INDEX fabric_transactions_once ON fabric_transactions (reference)
  WHERE reference IS NOT NULL AND status IN ('unsettled', 'committed');

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
  made_at        timestamptz NOT NULL DEFAULT clock_timestamp(),
  CONSTRAINT fabric_claims_times CHECK (made_at >= 'epoch' AND made_at < '10000-01-01 00:00:00+00')
);

CREATE INDEX fabric_claims_made ON fabric_claims (made_at);

-- The highest block of each Fabric channel that holds a write somebody was told of. A peer behind it cannot say that
-- something is absent.
CREATE TABLE fabric_heights (
  channel      text   PRIMARY KEY COLLATE "C",
  block_number bigint NOT NULL
);

-- Down Migration

DROP TABLE fabric_heights, fabric_claims, fabric_transactions, fabric_holders;
