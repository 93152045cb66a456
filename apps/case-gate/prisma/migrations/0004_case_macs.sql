-- Up Migration

-- Over what a case is decided by, its attachments too, under a key that the database never sees: so nobody who has the
-- database alone can have anything else decided than what was sent. Cases of before have none, which their ids tell.
ALTER TABLE cases ADD COLUMN mac text NOT NULL DEFAULT '';

-- Down Migration

ALTER TABLE cases DROP COLUMN mac;
