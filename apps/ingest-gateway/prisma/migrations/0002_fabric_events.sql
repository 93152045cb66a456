-- Up Migration

-- A Fabric ledger has no places, and its records are not in this database: the event itself then lists what it wrote,
-- as {id, channel, transactionId}. Null on the embedded ledger.
ALTER TABLE events ADD COLUMN records jsonb;

-- Down Migration

ALTER TABLE events DROP COLUMN records;
