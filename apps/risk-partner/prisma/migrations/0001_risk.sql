-- Up Migration

-- An organisation. `revision` counts the changes of its data; a snapshot is one revision.
CREATE TABLE orgs (
  org_id     text PRIMARY KEY COLLATE "C",
  name       text           NOT NULL,
  created_at timestamptz(3) NOT NULL,
  revision   bigint         NOT NULL DEFAULT 1 CHECK (revision > 0),
  revised_at timestamptz(3) NOT NULL
);

-- A person is a membership: somebody, human or machine, in one organisation. Removal keeps the row, so that the id is
-- never reused.
CREATE TABLE people (
  person_id          text PRIMARY KEY COLLATE "C",
  org_id             text           NOT NULL COLLATE "C" REFERENCES orgs,
  name               text           NOT NULL,
  kind               text           NOT NULL CHECK (kind IN ('human', 'machine')),
  roles              text[]         NOT NULL,
  departments        text[]         NOT NULL DEFAULT '{}',
  unrestricted       boolean        NOT NULL DEFAULT false,
  can_read_sensitive boolean        NOT NULL DEFAULT false,
  created_at         timestamptz(3) NOT NULL,
  removed_at         timestamptz(3)
);
CREATE INDEX people_by_org ON people (org_id, created_at, person_id);

-- Risks, evidence, assets, controls and policies: written, versioned, filtered and listed in the same way. `doc` is the
-- document as JSON text (jsonb refuses U+0000), `item` the canonical text that partners see, made at write time. `n` is
-- the value of If-Match. `facets` are `name:value` texts for filters and links.
CREATE TABLE resources (
  org_id     text           NOT NULL COLLATE "C" REFERENCES orgs,
  kind       text           NOT NULL CHECK (kind IN ('risk', 'evidence', 'asset', 'control', 'policy')),
  id         text           NOT NULL COLLATE "C",
  n          integer        NOT NULL CHECK (n > 0),
  owner_id   text           COLLATE "C",
  department text,
  sensitive  boolean        NOT NULL,
  created_at timestamptz(3) NOT NULL,
  updated_at timestamptz(3) NOT NULL,
  -- Only for evidence: distinguishes approved, expiring and expired.
  valid_until timestamptz(3),
  facets     text[]         NOT NULL,
  doc        text           NOT NULL,
  item       text           NOT NULL,
  PRIMARY KEY (org_id, kind, id)
);
CREATE INDEX resources_walk ON resources (org_id, kind, created_at, id);
CREATE INDEX resources_facets ON resources USING gin (facets);

CREATE TABLE frameworks (
  framework_id text PRIMARY KEY COLLATE "C",
  org_id       text           NOT NULL COLLATE "C" REFERENCES orgs,
  name         text           NOT NULL,
  version      text           NOT NULL,
  created_at   timestamptz(3) NOT NULL,
  item         text           NOT NULL,
  UNIQUE (org_id, name, version)
);
CREATE INDEX frameworks_walk ON frameworks (org_id, created_at, framework_id);

-- A requirement, and the row of its coverage.
CREATE TABLE requirements (
  coverage_id    text PRIMARY KEY COLLATE "C",
  org_id         text           NOT NULL COLLATE "C",
  framework_id   text           NOT NULL COLLATE "C" REFERENCES frameworks,
  requirement_id text           NOT NULL COLLATE "C",
  title          text           NOT NULL,
  created_at     timestamptz(3) NOT NULL,
  from_revision  bigint         NOT NULL,
  UNIQUE (framework_id, requirement_id)
);
CREATE INDEX requirements_walk ON requirements (org_id, created_at, coverage_id);

-- Every readable revision, and its changes: for each changed resource a row with the old attributes for row filters
-- (-1) and one with the new (+1). Sums of `delta` are therefore counts, for any caller.
CREATE TABLE revisions (
  org_id     text           NOT NULL COLLATE "C" REFERENCES orgs,
  revision   bigint         NOT NULL,
  created_at timestamptz(3) NOT NULL,
  PRIMARY KEY (org_id, revision)
);
CREATE TABLE changes (
  org_id     text    NOT NULL COLLATE "C",
  revision   bigint  NOT NULL,
  kind       text    NOT NULL,
  owner_id   text    COLLATE "C",
  department text,
  sensitive  boolean NOT NULL,
  delta      integer NOT NULL
);
CREATE INDEX changes_by_revision ON changes (org_id, revision);

-- The inputs of coverage, valid from one revision until another (null: current).
CREATE TABLE control_facts (
  org_id        text    NOT NULL COLLATE "C",
  control_id    text    NOT NULL COLLATE "C",
  applicable    boolean NOT NULL,
  coverage_ids  text[]  NOT NULL,
  from_revision bigint  NOT NULL,
  to_revision   bigint
);
CREATE INDEX control_facts_of_control ON control_facts (org_id, control_id, from_revision);
CREATE TABLE evidence_facts (
  org_id        text    NOT NULL COLLATE "C",
  evidence_id   text    NOT NULL COLLATE "C",
  owner_id      text    COLLATE "C",
  department    text,
  sensitive     boolean NOT NULL,
  approved      boolean NOT NULL,
  valid_until   timestamptz(3),
  fresh_at      timestamptz(3),
  control_ids   text[]  NOT NULL,
  from_revision bigint  NOT NULL,
  to_revision   bigint
);
CREATE INDEX evidence_facts_of_evidence ON evidence_facts (org_id, evidence_id, from_revision);
CREATE INDEX evidence_facts_ending ON evidence_facts (org_id, valid_until)
  WHERE to_revision IS NULL AND approved AND valid_until IS NOT NULL;

-- The outbox of fingerprints for the ledger, written in the transaction of the approval. `due_at` is also the lease: a
-- process that takes a row moves it ahead, so the lease of a crashed process expires.
CREATE TABLE anchors (
  ledger_record_id text PRIMARY KEY COLLATE "C",
  org_id           text           NOT NULL COLLATE "C",
  evidence_id      text           NOT NULL COLLATE "C",
  sha256           text           NOT NULL,
  data             text           NOT NULL,
  state            text           NOT NULL CHECK (state IN ('waiting', 'anchored', 'proved', 'refused')),
  attempts         integer        NOT NULL DEFAULT 0,
  due_at           timestamptz(3) NOT NULL,
  created_at       timestamptz(3) NOT NULL
);
CREATE INDEX anchors_due ON anchors (due_at) WHERE state IN ('waiting', 'anchored');

-- Written once, against the first checkpoint seen that covers the record; never changed.
CREATE TABLE proofs (
  proof_id         text PRIMARY KEY COLLATE "C",
  org_id           text           NOT NULL COLLATE "C",
  evidence_id      text           NOT NULL COLLATE "C",
  ledger_record_id text           NOT NULL UNIQUE COLLATE "C" REFERENCES anchors,
  created_at       timestamptz(3) NOT NULL,
  from_revision    bigint         NOT NULL,
  item             text           NOT NULL
);
CREATE INDEX proofs_walk ON proofs (org_id, created_at, proof_id);

-- Every key that ever signed envelopes, so that old ones can be verified.
CREATE TABLE signing_keys (
  kid           text PRIMARY KEY COLLATE "C",
  jwk           text           NOT NULL,
  first_used_at timestamptz(3) NOT NULL
);

-- The organisation of an event, and the attributes of its row for row filters, so that the audit of a hidden row is
-- hidden too.
ALTER TABLE audit_events
  ADD COLUMN org_id     text COLLATE "C" GENERATED ALWAYS AS (detail::jsonb ->> 'orgId') STORED,
  ADD COLUMN owner_id   text COLLATE "C" GENERATED ALWAYS AS (detail::jsonb ->> 'ownerId') STORED,
  ADD COLUMN department text GENERATED ALWAYS AS (detail::jsonb ->> 'department') STORED,
  ADD COLUMN sensitive  boolean GENERATED ALWAYS AS (coalesce((detail::jsonb ->> 'sensitive')::boolean, false)) STORED;
CREATE INDEX audit_events_by_org ON audit_events (org_id, at, id);

-- The next revision of an organisation. Locks its row until the transaction ends, so changes of one organisation are
-- serialised, and times of revisions never run backwards.
CREATE FUNCTION next_revision_v1(of_org text, at timestamptz) RETURNS TABLE (revision bigint, revised_at timestamptz)
LANGUAGE plpgsql SET search_path = risk, pg_temp AS $$
#variable_conflict use_column
DECLARE
  made   bigint;
  moment timestamptz;
BEGIN
  UPDATE orgs SET revision = revision + 1, revised_at = greatest(revised_at, at) WHERE org_id = of_org
    RETURNING revision, revised_at INTO made, moment;
  INSERT INTO revisions (org_id, revision, created_at) VALUES (of_org, made, moment);
  RETURN QUERY SELECT made, moment;
END $$;

-- The newest revision. Evidence that expired since is a change that nobody wrote; it becomes a revision here.
CREATE FUNCTION current_revision_v1(of_org text, at timestamptz) RETURNS bigint
LANGUAGE plpgsql SET search_path = risk, pg_temp AS $$
DECLARE
  newest bigint;
  since  timestamptz;
BEGIN
  SELECT revision, revised_at INTO newest, since FROM orgs WHERE org_id = of_org;
  IF NOT EXISTS (SELECT FROM evidence_facts f WHERE f.org_id = of_org AND f.to_revision IS NULL AND f.approved
                    AND f.valid_until > since AND f.valid_until <= at) THEN
    RETURN newest;
  END IF;
  SELECT revision, revised_at INTO newest, since FROM orgs WHERE org_id = of_org FOR UPDATE;
  IF at <= since THEN
    RETURN newest;
  END IF;
  SELECT n.revision INTO newest FROM next_revision_v1(of_org, at) n;
  INSERT INTO changes (org_id, revision, kind, owner_id, department, sensitive, delta)
    SELECT of_org, newest, 'evidence', f.owner_id, f.department, f.sensitive, 0
      FROM evidence_facts f
     WHERE f.org_id = of_org AND f.to_revision IS NULL AND f.approved AND f.valid_until > since AND f.valid_until <= at;
  RETURN newest;
END $$;

-- Down Migration

DROP FUNCTION current_revision_v1, next_revision_v1;
DROP TABLE signing_keys, proofs, anchors, evidence_facts, control_facts, changes, revisions, requirements, frameworks, resources, people,
  orgs;
