-- Up Migration

-- Covers what a case is decided by, including its attachments, under a key that the database never sees, so database
-- access alone cannot change what is decided. Earlier cases have none, which their ids show.
ALTER TABLE cases ADD COLUMN mac text NOT NULL DEFAULT '';

-- Down Migration

ALTER TABLE cases DROP COLUMN mac;
