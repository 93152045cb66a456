-- Up Migration

-- Hash over the columns of the decision and the hash of the previous one of its process; see
-- libs/envelope/src/decision-chain.ts. Null in rows written by an earlier version.
ALTER TABLE gate_decisions ADD COLUMN hash bytea;

-- Down Migration

ALTER TABLE gate_decisions DROP COLUMN hash;
