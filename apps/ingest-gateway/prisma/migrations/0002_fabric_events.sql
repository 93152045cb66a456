-- Up Migration

-- Where the ledger is a Fabric network it gives no places, and its records are not in this database: an event then says
-- itself what it wrote, as a list of {id, channel, transactionId}. Null where the ledger is the embedded one.
ALTER TABLE events ADD COLUMN records jsonb;

-- Down Migration

ALTER TABLE events DROP COLUMN records;
