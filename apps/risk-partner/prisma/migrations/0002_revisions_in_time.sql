-- Up Migration

-- The row of a change (for proofs, their evidence), to look up its later attributes. Null in rows of older versions,
-- and for kinds visible to the whole organisation.
ALTER TABLE changes ADD COLUMN id text COLLATE "C";
CREATE INDEX changes_of_row ON changes (org_id, id, revision) WHERE id IS NOT NULL;

-- Evidence expires without a write. Each time at which some expired becomes a revision of that time, before any later
-- one is made, so concurrent reads and writes make no difference. The caller has locked the organisation.
CREATE FUNCTION expire_evidence_v1(of_org text, up_to timestamptz) RETURNS void
LANGUAGE sql SET search_path = risk, pg_temp AS $$
  WITH ended AS (
    SELECT f.evidence_id, f.owner_id, f.department, f.sensitive, f.valid_until,
           o.revision + dense_rank() OVER (ORDER BY f.valid_until) AS made
      FROM orgs o JOIN evidence_facts f USING (org_id)
     WHERE o.org_id = of_org AND f.to_revision IS NULL AND f.approved
       AND f.valid_until > o.revised_at AND f.valid_until <= up_to),
  written AS (
    INSERT INTO revisions (org_id, revision, created_at) SELECT DISTINCT of_org, made, valid_until FROM ended),
  told AS (
    INSERT INTO changes (org_id, revision, kind, id, owner_id, department, sensitive, delta)
    SELECT of_org, made, 'evidence', evidence_id, owner_id, department, sensitive, 0 FROM ended)
  UPDATE orgs SET revision = last.made, revised_at = last.valid_until
    FROM (SELECT max(made) AS made, max(valid_until) AS valid_until FROM ended) last
   WHERE org_id = of_org AND last.made IS NOT NULL
$$;

CREATE OR REPLACE FUNCTION next_revision_v1(of_org text, at timestamptz) RETURNS TABLE (revision bigint, revised_at timestamptz)
LANGUAGE plpgsql SET search_path = risk, pg_temp AS $$
#variable_conflict use_column
DECLARE
  made   bigint;
  moment timestamptz;
BEGIN
  PERFORM 1 FROM orgs WHERE org_id = of_org FOR NO KEY UPDATE;
  PERFORM expire_evidence_v1(of_org, at);
  UPDATE orgs SET revision = revision + 1, revised_at = greatest(revised_at, at) WHERE org_id = of_org
    RETURNING revision, revised_at INTO made, moment;
  INSERT INTO revisions (org_id, revision, created_at) VALUES (of_org, made, moment);
  RETURN QUERY SELECT made, moment;
END $$;

-- One statement reads the revision and whether something has expired since, so that no concurrent change can hide it.
CREATE OR REPLACE FUNCTION current_revision_v1(of_org text, at timestamptz) RETURNS bigint
LANGUAGE plpgsql SET search_path = risk, pg_temp AS $$
DECLARE
  newest     bigint;
  is_overdue boolean;
BEGIN
  SELECT o.revision, EXISTS (SELECT FROM evidence_facts f WHERE f.org_id = of_org AND f.to_revision IS NULL AND f.approved
                                AND f.valid_until > o.revised_at AND f.valid_until <= at)
    INTO newest, is_overdue FROM orgs o WHERE o.org_id = of_org;
  IF is_overdue THEN
    PERFORM 1 FROM orgs WHERE org_id = of_org FOR NO KEY UPDATE;
    PERFORM expire_evidence_v1(of_org, at);
    SELECT o.revision INTO newest FROM orgs o WHERE o.org_id = of_org;
  END IF;
  RETURN newest;
END $$;

-- Evidence that expired unnoticed before this version becomes one revision now, in each organisation that has some.
WITH missed AS (
  SELECT f.* FROM evidence_facts f JOIN orgs o USING (org_id)
   WHERE f.to_revision IS NULL AND f.approved AND f.valid_until <= o.revised_at),
moved AS (
  UPDATE orgs SET revision = revision + 1 WHERE org_id IN (SELECT org_id FROM missed) RETURNING org_id, revision, revised_at),
written AS (
  INSERT INTO revisions (org_id, revision, created_at) SELECT org_id, revision, revised_at FROM moved)
INSERT INTO changes (org_id, revision, kind, id, owner_id, department, sensitive, delta)
  SELECT org_id, revision, 'evidence', evidence_id, owner_id, department, sensitive, 0 FROM missed JOIN moved USING (org_id);

-- A key is published if it has a MAC by a server secret: `id:base64url` per secret, separated by spaces.
ALTER TABLE signing_keys ADD COLUMN macs text;

-- The audit looks up the attributes of deleted rows.
CREATE INDEX audit_events_of_resource ON audit_events (org_id, resource, resource_id);

-- Down Migration

DROP INDEX audit_events_of_resource;
ALTER TABLE signing_keys DROP COLUMN macs;
CREATE OR REPLACE FUNCTION current_revision_v1(of_org text, at timestamptz) RETURNS bigint
LANGUAGE sql SET search_path = risk, pg_temp AS $$ SELECT revision FROM orgs WHERE org_id = of_org $$;
CREATE OR REPLACE FUNCTION next_revision_v1(of_org text, at timestamptz) RETURNS TABLE (revision bigint, revised_at timestamptz)
LANGUAGE sql SET search_path = risk, pg_temp AS $$
  WITH made AS (UPDATE orgs SET revision = orgs.revision + 1, revised_at = greatest(orgs.revised_at, at)
                 WHERE org_id = of_org RETURNING orgs.revision, orgs.revised_at),
  written AS (INSERT INTO revisions (org_id, revision, created_at) SELECT of_org, made.revision, made.revised_at FROM made)
  SELECT made.revision, made.revised_at FROM made
$$;
DROP FUNCTION expire_evidence_v1;
DROP INDEX changes_of_row;
ALTER TABLE changes DROP COLUMN id;
