-- Up Migration

-- The embedded ledger: one append-only log per channel. The run-time roles of the surfaces may only execute the
-- versioned functions of this schema; none of them can access a table. The tables of the hot path have no CHECK
-- constraints: every statement would parse them again, and the audit checks more than they could.

-- The head of a channel. Its row lock makes indexes gap-free and the visible records always a prefix.
CREATE TABLE channels (
  channel_id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  channel    text   NOT NULL UNIQUE,
  network    text   NOT NULL,
  size       bigint NOT NULL DEFAULT 0
) WITH (fillfactor = 50);

-- data and extra are canonical JSON (RFC 8785) as text: jsonb rejects U+0000 and rewrites numbers.
CREATE TABLE records (
  channel_id     integer NOT NULL,
  idx            bigint  NOT NULL,
  id             text    NOT NULL COLLATE "C",
  type           text    NOT NULL COLLATE "C",
  owner          text    COLLATE "C",
  data           text    COLLATE "C",
  extra          text    COLLATE "C",
  salt           bytea,
  data_hash      bytea   NOT NULL,
  leaf_hash      bytea   NOT NULL,
  transaction_id bytea   NOT NULL,
  at_ms          bigint  NOT NULL,
  PRIMARY KEY (channel_id, idx)
) PARTITION BY RANGE (idx);

-- An id is used once per channel, for ever.
CREATE TABLE record_ids (
  channel_id integer NOT NULL,
  id         text    NOT NULL COLLATE "C",
  idx        bigint  NOT NULL,
  PRIMARY KEY (channel_id, id)
);

-- Idempotency claims. transaction_id commits to every other column (see append-statement.ts), so an edit is detected.
-- indexes is null if the records of the unit are first_index, first_index + 1, ... in order.
CREATE TABLE claims (
  claim          bytea   PRIMARY KEY,
  fingerprint    text    NOT NULL COLLATE "C",
  transaction_id bytea   NOT NULL,
  nonce          bytea   NOT NULL,
  channel_id     integer NOT NULL,
  first_index    bigint,
  record_count   integer NOT NULL,
  indexes        bigint[],
  note           text    NOT NULL COLLATE "C"
);

-- Tiles of the Merkle tree (C2SP tlog-tiles): full ones, and the partial ones of the right edge as they grow.
CREATE TABLE tiles (
  channel_id integer  NOT NULL,
  level      smallint NOT NULL,
  tile       bigint   NOT NULL,
  hashes     bytea    NOT NULL,
  PRIMARY KEY (channel_id, level, tile)
);

-- The newest signed checkpoint of a channel. All checkpoints are also kept outside the database.
CREATE TABLE checkpoints (
  channel_id integer PRIMARY KEY,
  size       bigint NOT NULL,
  root       bytea  NOT NULL,
  note       text   NOT NULL
);

-- Why a record has no content. row_hash covers the other columns.
CREATE TABLE erasures (
  channel_id integer NOT NULL,
  idx        bigint  NOT NULL,
  reason     text    NOT NULL,
  at_ms      bigint  NOT NULL,
  row_hash   bytea   NOT NULL,
  PRIMARY KEY (channel_id, idx)
);

-- Partitions are created ahead of the log by the integrator, and by an append that would otherwise exceed the last one.
CREATE FUNCTION ensure_partitions_v1(up_to bigint) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = ledger, pg_temp AS $$
DECLARE
  width   CONSTANT bigint := 1048576;
  ordinal bigint;
BEGIN
  FOR ordinal IN 0 .. up_to / width LOOP
    IF to_regclass(format('ledger.records_%s', ordinal)) IS NULL THEN
      PERFORM pg_advisory_xact_lock(hashtextextended('ledger.partitions', 0));
      EXECUTE format('CREATE TABLE IF NOT EXISTS records_%s PARTITION OF records FOR VALUES FROM (%s) TO (%s)',
        ordinal, ordinal * width, (ordinal + 1) * width);
    END IF;
  END LOOP;
END $$;

SELECT ensure_partitions_v1(1048576);

-- Down Migration

DROP TABLE erasures, checkpoints, tiles, claims, record_ids, records, channels;
DROP FUNCTION ensure_partitions_v1;
