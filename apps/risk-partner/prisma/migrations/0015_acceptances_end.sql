-- Up Migration

-- Partners see that an acceptance ran out. Like the expiry of evidence, it is a change that nobody writes:
-- `resources.valid_until` is its time as long as the acceptance is not stale for another reason.
ALTER TABLE resources DISABLE TRIGGER resources_forget_screening;
WITH found AS (
  SELECT org_id, id, (doc::json #> '{acceptance,expiresAt}') #>> '{}' AS ends,
         (doc::json #> '{acceptance,residualAtAcceptance}')::text IS DISTINCT FROM (doc::json -> 'residual')::text AS moved
    FROM resources WHERE kind = 'risk')
UPDATE resources r
   SET item = '{"acceptanceExpiresAt":' || coalesce('"' || f.ends || '"', 'null') || ',"acceptanceStale":'
           || CASE WHEN f.ends IS NULL THEN 'null' WHEN f.moved THEN 'true' ELSE 'false' END || ',' || substr(r.item, 2),
       valid_until = CASE WHEN f.moved THEN NULL ELSE f.ends::timestamptz END
  FROM found f WHERE r.org_id = f.org_id AND r.kind = 'risk' AND r.id = f.id;
ALTER TABLE resources ENABLE TRIGGER resources_forget_screening;

CREATE INDEX resources_acceptances_ending ON resources (org_id, valid_until)
  WHERE kind = 'risk' AND valid_until IS NOT NULL;

-- Each time at which evidence expired or an acceptance ran out becomes a revision of that time, before any later one is
-- made. The caller has locked the organisation.
CREATE OR REPLACE FUNCTION expire_evidence_v1(of_org text, up_to timestamptz) RETURNS void
LANGUAGE sql SET search_path = risk, pg_temp AS $$
  WITH due AS (
    SELECT 'evidence' AS kind, f.evidence_id AS id, f.owner_id, f.department, f.sensitive, f.valid_until
      FROM orgs o JOIN evidence_facts f USING (org_id)
     WHERE o.org_id = of_org AND f.to_revision IS NULL AND f.approved
       AND f.valid_until > o.revised_at AND f.valid_until <= up_to
    UNION ALL
    SELECT r.kind, r.id, r.owner_id, r.department, r.sensitive, r.valid_until
      FROM orgs o JOIN resources r USING (org_id)
     WHERE o.org_id = of_org AND r.kind = 'risk' AND r.valid_until > o.revised_at AND r.valid_until <= up_to),
  ended AS (
    SELECT due.*, o.revision + dense_rank() OVER (ORDER BY due.valid_until) AS made
      FROM orgs o CROSS JOIN due WHERE o.org_id = of_org),
  written AS (
    INSERT INTO revisions (org_id, revision, created_at) SELECT DISTINCT of_org, made, valid_until FROM ended),
  told AS (
    INSERT INTO changes (org_id, revision, kind, id, owner_id, department, sensitive, delta)
    SELECT of_org, made, kind, id, owner_id, department, sensitive, 0 FROM ended)
  UPDATE orgs SET revision = last.made, revised_at = last.valid_until
    FROM (SELECT max(made) AS made, max(valid_until) AS valid_until FROM ended) last
   WHERE org_id = of_org AND last.made IS NOT NULL
$$;

CREATE OR REPLACE FUNCTION current_revision_v1(of_org text, at timestamptz) RETURNS bigint
LANGUAGE plpgsql SET search_path = risk, pg_temp AS $$
DECLARE
  newest     bigint;
  is_overdue boolean;
BEGIN
  SELECT o.revision,
         EXISTS (SELECT FROM evidence_facts f WHERE f.org_id = of_org AND f.to_revision IS NULL AND f.approved
                    AND f.valid_until > o.revised_at AND f.valid_until <= at)
         OR EXISTS (SELECT FROM resources r WHERE r.org_id = of_org AND r.kind = 'risk'
                       AND r.valid_until > o.revised_at AND r.valid_until <= at)
    INTO newest, is_overdue FROM orgs o WHERE o.org_id = of_org;
  IF is_overdue THEN
    PERFORM 1 FROM orgs WHERE org_id = of_org FOR NO KEY UPDATE;
    PERFORM expire_evidence_v1(of_org, at);
    SELECT o.revision INTO newest FROM orgs o WHERE o.org_id = of_org;
  END IF;
  RETURN newest;
END $$;

-- Down Migration

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
CREATE OR REPLACE FUNCTION expire_evidence_v1(of_org text, up_to timestamptz) RETURNS void
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
DROP INDEX resources_acceptances_ending;
ALTER TABLE resources DISABLE TRIGGER resources_forget_screening;
UPDATE resources SET valid_until = NULL,
       item = '{' || regexp_replace(item, '^\{"acceptanceExpiresAt":(null|"[^"]*"),"acceptanceStale":(null|true|false),', '')
 WHERE kind = 'risk';
ALTER TABLE resources ENABLE TRIGGER resources_forget_screening;
