-- Up Migration

-- Rows by the reference that people use. `json` reads one member whatever the others hold; jsonb refuses U+0000.
CREATE INDEX resources_by_ref ON resources (org_id, kind, ((item::json -> 'refId') #>> '{}'))
  WHERE kind IN ('risk', 'asset', 'control');

-- The proof of one item of evidence.
CREATE INDEX proofs_of_evidence ON proofs (org_id, evidence_id);

-- Down Migration

DROP INDEX proofs_of_evidence, resources_by_ref;
