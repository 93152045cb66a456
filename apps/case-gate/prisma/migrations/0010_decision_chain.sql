-- Up Migration

-- The hash of each decision over its columns and the hash of the decision before it in its process; see
-- libs/envelope/src/decision-chain.ts. Null where a process of the version before wrote the row.
ALTER TABLE gate_decisions ADD COLUMN hash bytea;

-- Down Migration

ALTER TABLE gate_decisions DROP COLUMN hash;
