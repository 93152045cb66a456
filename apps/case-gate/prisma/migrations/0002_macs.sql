-- Up Migration

-- Covers the document that a seal of this decision would contain, under a key that the database never sees, so database
-- access alone cannot change what is sealed. Null for referrals, which are never sealed.
ALTER TABLE decisions ADD COLUMN mac text NOT NULL DEFAULT '';
ALTER TABLE decisions ALTER COLUMN mac DROP DEFAULT;

-- Covers all other columns of a policy version, so database access alone cannot change what its rules decide.
ALTER TABLE policies ADD COLUMN mac text NOT NULL DEFAULT '';
ALTER TABLE policies ALTER COLUMN mac DROP DEFAULT;

-- Down Migration

ALTER TABLE policies DROP COLUMN mac;
ALTER TABLE decisions DROP COLUMN mac;
