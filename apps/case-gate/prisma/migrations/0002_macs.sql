-- Up Migration

-- Over the document that a seal of this decision would be, under a key that the database never sees: so nobody who has the
-- database alone can have anything else sealed than what was decided. Referrals, which are never sealed, have none.
ALTER TABLE decisions ADD COLUMN mac text NOT NULL DEFAULT '';
ALTER TABLE decisions ALTER COLUMN mac DROP DEFAULT;

-- Over every other column of a policy version: nobody who has the database alone can change what rules decide.
ALTER TABLE policies ADD COLUMN mac text NOT NULL DEFAULT '';
ALTER TABLE policies ALTER COLUMN mac DROP DEFAULT;

-- Down Migration

ALTER TABLE policies DROP COLUMN mac;
ALTER TABLE decisions DROP COLUMN mac;
