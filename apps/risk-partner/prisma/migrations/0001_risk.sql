-- Up Migration

-- Rows that no reader could show are refused throughout, so that one of them cannot make a list of the others fail: a time
-- that is none or beyond what RFC 3339 can say, and a text that is no JSON.

-- The words of a row, for the index of a list: every sequence of one to three code points in a word of `folded`, which is
-- made of the texts that `q` searches (see libs/paging), and who owns the row.
CREATE FUNCTION grams(folded text, scope text[]) RETURNS text[] LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN ARRAY(SELECT substr(word, at, length)
               FROM string_to_table(folded, ' ') word, generate_series(1, 3) length,
                    generate_series(1, char_length(word) - length + 1) at)
       || ARRAY(SELECT '=' || owner FROM unnest(scope) owner);

-- An organisation. `revision` counts the changes of its data; a snapshot is one revision.
CREATE TABLE orgs (
  org_id     text PRIMARY KEY COLLATE "C",
  name       text           NOT NULL,
  created_at timestamptz(3) NOT NULL,
  revision   bigint         NOT NULL DEFAULT 1 CHECK (revision > 0),
  revised_at timestamptz(3) NOT NULL,
  -- Id and name, folded, for searches.
  folded      text          NOT NULL DEFAULT '' COLLATE "C",
  -- The beginning of the name, folded, by which lists are sorted.
  sorted_name text          NOT NULL DEFAULT '' COLLATE "C",
  CONSTRAINT orgs_times CHECK (
    least(created_at, revised_at) >= '0001-01-01 00:00:00+00' AND greatest(created_at, revised_at) < '10000-01-01 00:00:00+00')
);
CREATE INDEX orgs_by_name ON orgs (sorted_name, org_id);
CREATE INDEX orgs_by_gram ON orgs USING gin (grams(folded, '{}'));

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
  removed_at         timestamptz(3),
  -- Of their newest request, by key or token; written afterwards, at most once a minute.
  last_seen_at       timestamptz(3),
  -- As those of organisations.
  folded             text           NOT NULL DEFAULT '' COLLATE "C",
  sorted_name        text           NOT NULL DEFAULT '' COLLATE "C",
  CONSTRAINT people_times CHECK (
    least(created_at, removed_at, last_seen_at) >= '0001-01-01 00:00:00+00'
    AND greatest(created_at, removed_at, last_seen_at) < '10000-01-01 00:00:00+00')
);
CREATE INDEX people_by_org ON people (org_id, person_id) WHERE removed_at IS NULL;
CREATE INDEX people_by_name ON people (org_id, sorted_name, person_id) WHERE removed_at IS NULL;
CREATE INDEX people_by_gram ON people USING gin (grams(folded, ARRAY[org_id])) WHERE removed_at IS NULL;
-- Whether an organisation has another owner, without reading its other people.
CREATE INDEX people_owners ON people (org_id, person_id) WHERE removed_at IS NULL AND roles @> ARRAY['owner'];

-- Identities of people at identity providers. A row without issuer and subject is an invitation: it waits for the first
-- token with this verified address. Removal keeps the row, to distinguish removed from unknown ids.
CREATE TABLE identities (
  identity_id text PRIMARY KEY COLLATE "C",
  org_id      text           NOT NULL COLLATE "C" REFERENCES orgs,
  person_id   text           NOT NULL COLLATE "C" REFERENCES people,
  issuer      text           COLLATE "C",
  subject     text           COLLATE "C",
  email       text           COLLATE "C",
  created_at  timestamptz(3) NOT NULL,
  expires_at  timestamptz(3),
  removed_at  timestamptz(3),
  -- Id, issuer, subject and e-mail address, folded, for searches among the few of a person.
  folded      text           NOT NULL DEFAULT '' COLLATE "C",
  CHECK ((issuer IS NULL) = (subject IS NULL) AND (issuer IS NULL) = (expires_at IS NOT NULL)),
  CHECK (issuer IS NOT NULL OR email IS NOT NULL),
  CONSTRAINT identities_times CHECK (
    least(created_at, expires_at, removed_at) >= '0001-01-01 00:00:00+00'
    AND greatest(created_at, expires_at, removed_at) < '10000-01-01 00:00:00+00')
);
-- An identity is at most one person per organisation.
CREATE UNIQUE INDEX identities_once ON identities (issuer, subject, org_id) WHERE removed_at IS NULL;
CREATE INDEX identities_of_person ON identities (person_id, identity_id);
CREATE INDEX identities_invited ON identities (email) WHERE issuer IS NULL AND removed_at IS NULL;
CREATE INDEX identities_of_email ON identities (org_id, email) WHERE email IS NOT NULL AND removed_at IS NULL;

-- Invitations of people who are no members yet: the first token with this verified address makes a person with these roles
-- and this scope, and removes the row. Until then there is no person, so nobody owns a key or counts as an owner.
CREATE TABLE invitations (
  invitation_id      text PRIMARY KEY COLLATE "C",
  org_id             text           NOT NULL COLLATE "C" REFERENCES orgs,
  email              text           NOT NULL COLLATE "C",
  roles              text[]         NOT NULL,
  departments        text[]         NOT NULL,
  unrestricted       boolean        NOT NULL,
  can_read_sensitive boolean        NOT NULL,
  invited_by         text           NOT NULL COLLATE "C" REFERENCES people,
  created_at         timestamptz(3) NOT NULL,
  expires_at         timestamptz(3) NOT NULL,
  CONSTRAINT invitations_once UNIQUE (org_id, email),
  CONSTRAINT invitations_times CHECK (
    least(created_at, expires_at) >= '0001-01-01 00:00:00+00' AND greatest(created_at, expires_at) < '10000-01-01 00:00:00+00')
);
CREATE INDEX invitations_by_org ON invitations (org_id, invitation_id);
CREATE INDEX invitations_by_email ON invitations (email);
CREATE INDEX invitations_by_inviter ON invitations (invited_by);
CREATE INDEX invitations_ending ON invitations (expires_at);

-- Identities with valid access tokens that belong to nobody, so that an operator can link them. Processes write them in
-- the background and remove all but the newest.
CREATE TABLE unlinked_identities (
  issuer         text           NOT NULL COLLATE "C",
  subject        text           NOT NULL COLLATE "C",
  -- As the provider says; for display only.
  email          text           COLLATE "C",
  email_verified boolean        NOT NULL,
  last_seen_at   timestamptz(3) NOT NULL,
  -- Issuer, subject and e-mail address, folded, for searches.
  folded         text           NOT NULL DEFAULT '' COLLATE "C",
  PRIMARY KEY (issuer, subject),
  CONSTRAINT unlinked_identities_times CHECK (last_seen_at >= 'epoch' AND last_seen_at < '10000-01-01 00:00:00+00')
);

-- What a row is found by, for one index of all lists: the sequences of one to three code points inside each word of
-- `folded`, and terms that begin with `=` (a name and at least one more character, so longer than a sequence). `=in:` is
-- the list of the row and one of its four parts, each larger than the one before: a statement looks at one part after the
-- other and stops when it has enough, and its shortest list of rows bounds what it reads, so that a small organisation
-- never pays for a large one.
CREATE FUNCTION terms(
  org_id text, kind text, id text, folded text, facets text[], owner_id text, department text, sensitive boolean)
RETURNS text[] LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE COST 10000 AS $$
DECLARE
  hash    integer := hashtext(id COLLATE "C") & 63;
  found   text[] := ARRAY['=in:' || org_id || '/' || kind || '/' ||
    CASE WHEN hash = 0 THEN '0' WHEN hash < 4 THEN '1' WHEN hash < 16 THEN '2' ELSE '3' END];
  before  text COLLATE "C" := '';
  earlier text COLLATE "C" := '';
  one     text COLLATE "C";
BEGIN
  FOREACH one IN ARRAY facets LOOP
    found := found || ('=' || one);
  END LOOP;
  IF owner_id IS NOT NULL THEN found := found || ('=owner:' || owner_id); END IF;
  IF department IS NOT NULL THEN found := found || ('=department:' || department); END IF;
  IF NOT sensitive THEN found := found || '=open:'::text; END IF;
  FOREACH one IN ARRAY string_to_array(folded, NULL) LOOP
    IF one = ' ' THEN
      before := '';
      earlier := '';
    ELSE
      found := found || one;
      IF before <> '' THEN found := found || (before || one); END IF;
      IF earlier <> '' THEN found := found || (earlier || before || one); END IF;
      earlier := before;
      before := one;
    END IF;
  END LOOP;
  RETURN found;
END $$;

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
  -- Of evidence: distinguishes approved, expiring and expired. Of a risk: when its acceptance runs out, as long as it is
  -- not stale for another reason.
  valid_until timestamptz(3),
  facets     text[]         NOT NULL,
  -- Id, reference and title or name, folded, for searches.
  folded     text           NOT NULL COLLATE "C",
  -- What lists are sorted by, besides times: the beginnings of title or name and of the reference, folded; the current
  -- score; the next review.
  title      text           NOT NULL COLLATE "C",
  ref_id     text           COLLATE "C",
  score      smallint,
  review_at  timestamptz(3),
  -- Of a risk: until when its score was lower than it is now; null if it never was. Kept by a trigger.
  lower_until timestamptz(3),
  -- What `row_counts` counts of the row.
  counted    text[]         NOT NULL,
  doc        text           NOT NULL,
  item       text           NOT NULL,
  -- The version of the personal-data rules that found nothing in `item` when it was written, so that lists need not scan
  -- it again; null if not scanned. `screened_in` is the revision that wrote both.
  screened_by smallint,
  screened_in bigint,
  -- With what row filters look at, so that whether a row may be seen is read from the index.
  PRIMARY KEY (org_id, kind, id) INCLUDE (owner_id, department, sensitive),
  CONSTRAINT resources_times CHECK (
    least(created_at, updated_at, valid_until, review_at, lower_until) >= '0001-01-01 00:00:00+00'
    AND greatest(created_at, updated_at, valid_until, review_at, lower_until) < '10000-01-01 00:00:00+00'),
  CONSTRAINT resources_json CHECK (doc::json IS NOT NULL AND item::json IS NOT NULL)
);
CREATE INDEX resources_walk ON resources (org_id, kind, created_at, id);
-- With what the list of recent changes in the order of creation needs of a row, which are read from the index alone.
CREATE INDEX resources_by_change ON resources (org_id, kind, updated_at, id)
  INCLUDE (created_at, owner_id, department, sensitive);
CREATE INDEX resources_by_title ON resources (org_id, kind, title, id);
CREATE INDEX resources_by_ref_id ON resources (org_id, kind, ref_id, id) WHERE kind IN ('risk', 'asset', 'control');
-- The first facet of a risk is its status: few risks of the highest scores are closed.
CREATE INDEX resources_by_score ON resources (org_id, score, id) WHERE kind = 'risk';
CREATE INDEX resources_by_status_and_score ON resources (org_id, (facets[1]), score, id) WHERE kind = 'risk';
CREATE INDEX resources_by_review ON resources (org_id, kind, review_at, id) WHERE kind IN ('risk', 'policy');
CREATE INDEX resources_by_end ON resources (org_id, valid_until, id) WHERE kind = 'evidence';
-- The first facet of evidence is its state, which decides whether it ends.
CREATE INDEX resources_by_state_and_end ON resources (org_id, (facets[1]), valid_until, id) WHERE kind = 'evidence';
-- Every search reads the list of pending entries, so it is short: those of some forty rows.
CREATE INDEX resources_terms ON resources
  USING gin (terms(org_id, kind, id, folded, facets, owner_id, department, sensitive) COLLATE "C")
  WITH (fastupdate = on, gin_pending_list_limit = 256);
-- Rows by the reference that people use. `json` reads one member whatever the others hold; jsonb refuses U+0000.
CREATE INDEX resources_by_ref ON resources (org_id, kind, ((item::json -> 'refId') #>> '{}'))
  WHERE kind IN ('risk', 'asset', 'control');
-- The risks that can have got worse since a time, with what tells whether they did, and who may see them.
CREATE INDEX resources_by_lower_until ON resources (org_id, lower_until, id)
  INCLUDE (kind, created_at, score, owner_id, department, sensitive) WHERE kind = 'risk' AND lower_until IS NOT NULL;
CREATE INDEX resources_by_acceptance ON resources (org_id, valid_until, id) WHERE kind = 'risk';

-- A writer that does not know the columns of the screening leaves the item unscanned.
CREATE FUNCTION forget_screening() RETURNS trigger LANGUAGE plpgsql SET search_path = risk, pg_temp AS $$
BEGIN
  NEW.screened_by := NULL;
  NEW.screened_in := NULL;
  RETURN NEW;
END $$;
CREATE TRIGGER resources_forget_screening BEFORE UPDATE ON resources FOR EACH ROW
  WHEN (NEW.item IS DISTINCT FROM OLD.item AND NEW.screened_in IS NOT DISTINCT FROM OLD.screened_in)
  EXECUTE FUNCTION forget_screening();

-- Each change of the current rating of a risk, of which the newest 200 are kept, in the time of the risk. `version` is the
-- `n` that it made. Not replacing `rating_changes`, which counts by month also what is made, closed and removed.
CREATE TABLE score_changes (
  org_id         text           NOT NULL COLLATE "C",
  risk_id        text           NOT NULL COLLATE "C",
  at             timestamptz(3) NOT NULL,
  version        integer        NOT NULL,
  was_likelihood smallint       NOT NULL,
  was_impact     smallint       NOT NULL,
  likelihood     smallint       NOT NULL,
  impact         smallint       NOT NULL,
  PRIMARY KEY (org_id, risk_id, at, version) INCLUDE (was_likelihood, was_impact),
  CONSTRAINT score_changes_times CHECK (at >= '0001-01-01 00:00:00+00' AND at < '10000-01-01 00:00:00+00')
);
CREATE FUNCTION note_score() RETURNS trigger LANGUAGE plpgsql SET search_path = risk, pg_temp AS $$
DECLARE
  was json := OLD.doc::json -> 'current';
  is_now json := NEW.doc::json -> 'current';
BEGIN
  IF was::text = is_now::text THEN RETURN NEW; END IF;
  INSERT INTO score_changes (org_id, risk_id, at, version, was_likelihood, was_impact, likelihood, impact)
  VALUES (NEW.org_id, NEW.id, NEW.updated_at, NEW.n, (was ->> 'likelihood')::smallint, (was ->> 'impact')::smallint,
          (is_now ->> 'likelihood')::smallint, (is_now ->> 'impact')::smallint);
  DELETE FROM score_changes c WHERE c.org_id = NEW.org_id AND c.risk_id = NEW.id AND (c.at, c.version) <= (
    SELECT o.at, o.version FROM score_changes o WHERE o.org_id = NEW.org_id AND o.risk_id = NEW.id
     ORDER BY o.at DESC, o.version DESC OFFSET 200 LIMIT 1);
  NEW.lower_until := (
    SELECT max(c.at) FROM score_changes c
     WHERE c.org_id = NEW.org_id AND c.risk_id = NEW.id AND c.was_likelihood * c.was_impact < NEW.score);
  RETURN NEW;
END $$;
CREATE TRIGGER resources_note_score BEFORE UPDATE ON resources FOR EACH ROW
  WHEN (NEW.kind = 'risk' AND NEW.doc IS DISTINCT FROM OLD.doc) EXECUTE FUNCTION note_score();
CREATE FUNCTION forget_scores() RETURNS trigger LANGUAGE plpgsql SET search_path = risk, pg_temp AS $$
BEGIN
  DELETE FROM score_changes WHERE org_id = OLD.org_id AND risk_id = OLD.id;
  RETURN NULL;
END $$;
CREATE TRIGGER resources_forget_scores AFTER DELETE ON resources FOR EACH ROW
  WHEN (OLD.kind = 'risk') EXECUTE FUNCTION forget_scores();

CREATE TABLE frameworks (
  framework_id text PRIMARY KEY COLLATE "C",
  org_id       text           NOT NULL COLLATE "C" REFERENCES orgs,
  name         text           NOT NULL,
  version      text           NOT NULL,
  created_at   timestamptz(3) NOT NULL,
  item         text           NOT NULL,
  -- Id, name and version, and the beginning of the name, folded: an organisation has few, so without an index.
  folded       text           NOT NULL DEFAULT '' COLLATE "C",
  sorted_name  text           NOT NULL DEFAULT '' COLLATE "C",
  UNIQUE (org_id, name, version),
  CONSTRAINT frameworks_times CHECK (created_at >= '0001-01-01 00:00:00+00' AND created_at < '10000-01-01 00:00:00+00'),
  CONSTRAINT frameworks_json CHECK (item::json IS NOT NULL)
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
  UNIQUE (framework_id, requirement_id),
  CONSTRAINT requirements_times CHECK (created_at >= '0001-01-01 00:00:00+00' AND created_at < '10000-01-01 00:00:00+00')
);
CREATE INDEX requirements_walk ON requirements (org_id, created_at, coverage_id);

-- Every readable revision, and its changes: for each changed resource a row with the old attributes for row filters
-- (-1) and one with the new (+1). Sums of `delta` are therefore counts, for any caller. `id` is that of the row of a
-- change (for proofs, of their evidence), to look up its later attributes, which differ where it `has_moved`; null for kinds
-- visible to the whole organisation.
CREATE TABLE revisions (
  org_id     text           NOT NULL COLLATE "C" REFERENCES orgs,
  revision   bigint         NOT NULL,
  created_at timestamptz(3) NOT NULL,
  -- With the time, so that the first one after a time is found in the index.
  PRIMARY KEY (org_id, revision) INCLUDE (created_at),
  CONSTRAINT revisions_times CHECK (created_at >= '0001-01-01 00:00:00+00' AND created_at < '10000-01-01 00:00:00+00')
);
CREATE TABLE changes (
  org_id     text    NOT NULL COLLATE "C",
  revision   bigint  NOT NULL,
  kind       text    NOT NULL,
  id         text    COLLATE "C",
  owner_id   text    COLLATE "C",
  department text,
  sensitive  boolean NOT NULL,
  delta      integer NOT NULL,
  has_moved  boolean NOT NULL DEFAULT false
);
CREATE INDEX changes_by_revision ON changes (org_id, revision);
CREATE INDEX changes_of_row ON changes (org_id, id, revision) WHERE id IS NOT NULL;

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
-- Coverage reads what belongs to the requirements of its page.
CREATE INDEX control_facts_of_coverage ON control_facts USING gin (coverage_ids COLLATE "C") WITH (fastupdate = off);
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
  to_revision   bigint,
  CONSTRAINT evidence_facts_times CHECK (
    least(valid_until, fresh_at) >= '0001-01-01 00:00:00+00' AND greatest(valid_until, fresh_at) < '10000-01-01 00:00:00+00')
);
CREATE INDEX evidence_facts_of_evidence ON evidence_facts (org_id, evidence_id, from_revision);
CREATE INDEX evidence_facts_of_controls ON evidence_facts USING gin (control_ids COLLATE "C") WITH (fastupdate = off) WHERE approved;
CREATE INDEX evidence_facts_ending ON evidence_facts (org_id, valid_until)
  WHERE to_revision IS NULL AND approved AND valid_until IS NOT NULL;

-- The outbox of fingerprints for the ledger, written in the transaction of the approval. `due_at` is also the lease: a
-- process that takes a row moves it ahead, so the lease of a crashed process expires. Infinity: not before somebody acts.
CREATE TABLE anchors (
  ledger_record_id text PRIMARY KEY COLLATE "C",
  org_id           text           NOT NULL COLLATE "C",
  evidence_id      text           NOT NULL COLLATE "C",
  sha256           text           NOT NULL,
  data             text           NOT NULL,
  state            text           NOT NULL CHECK (state IN ('waiting', 'anchored', 'proved', 'refused')),
  attempts         integer        NOT NULL DEFAULT 0,
  due_at           timestamptz(3) NOT NULL CONSTRAINT anchors_due CHECK (due_at > '-infinity'),
  created_at       timestamptz(3) NOT NULL,
  CONSTRAINT anchors_times CHECK (created_at >= '0001-01-01 00:00:00+00' AND created_at < '10000-01-01 00:00:00+00'),
  CONSTRAINT anchors_json CHECK (data::json IS NOT NULL)
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
  item             text           NOT NULL,
  CONSTRAINT proofs_times CHECK (created_at >= '0001-01-01 00:00:00+00' AND created_at < '10000-01-01 00:00:00+00'),
  CONSTRAINT proofs_json CHECK (item::json IS NOT NULL)
);
CREATE INDEX proofs_walk ON proofs (org_id, created_at, proof_id);
CREATE INDEX proofs_of_evidence ON proofs (org_id, evidence_id);

-- How many rows there are by what row filters look at, so that aggregates of a million rows read a few: kept by triggers,
-- in the transaction of the rows. Each row is counted once without an owner and once for its owner, under every cell of
-- `counted` (a proof as its evidence, under `all`). An absent owner or department is ''.
CREATE TABLE row_counts (
  org_id     text    NOT NULL COLLATE "C",
  kind       text    NOT NULL COLLATE "C",
  owner_id   text    NOT NULL COLLATE "C",
  cell       text    NOT NULL COLLATE "C",
  department text    NOT NULL COLLATE "C",
  sensitive  boolean NOT NULL,
  rows       integer NOT NULL,
  PRIMARY KEY (org_id, kind, owner_id, cell, department, sensitive)
);
CREATE INDEX row_counts_empty ON row_counts (org_id) WHERE rows = 0;

CREATE FUNCTION cells_of(owner_id text, counted text[]) RETURNS TABLE (owner text, cell text)
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT o.owner, c.cell FROM (VALUES (''), (owner_id)) o (owner), unnest(counted) c (cell) WHERE o.owner IS NOT NULL
$$;

CREATE FUNCTION count_added() RETURNS trigger LANGUAGE plpgsql SET search_path = risk, pg_temp AS $$
BEGIN
  INSERT INTO row_counts AS c (org_id, kind, owner_id, cell, department, sensitive, rows)
  SELECT r.org_id, r.kind, t.owner, t.cell, coalesce(r.department, ''), r.sensitive, count(*)
    FROM new_rows r CROSS JOIN LATERAL cells_of(r.owner_id, r.counted) t GROUP BY 1, 2, 3, 4, 5, 6
  ON CONFLICT (org_id, kind, owner_id, cell, department, sensitive) DO UPDATE SET rows = c.rows + EXCLUDED.rows;
  RETURN NULL;
END $$;

-- Of an update and of a deletion, with the proofs of evidence.
CREATE FUNCTION count_moved() RETURNS trigger LANGUAGE plpgsql SET search_path = risk, pg_temp AS $$
BEGIN
  IF TG_OP = 'UPDATE' THEN
    INSERT INTO row_counts AS c (org_id, kind, owner_id, cell, department, sensitive, rows)
    WITH moved AS (
      SELECT org_id, kind, id, owner_id, department, sensitive, counted, -1 AS delta FROM old_rows
      UNION ALL SELECT org_id, kind, id, owner_id, department, sensitive, counted, 1 FROM new_rows)
    SELECT m.org_id, m.kind, t.owner, t.cell, coalesce(m.department, ''), m.sensitive, sum(m.delta)
      FROM (SELECT org_id, kind, owner_id, department, sensitive, counted, delta FROM moved
            UNION ALL
            SELECT m.org_id, 'proof', m.owner_id, m.department, m.sensitive, ARRAY['all'], m.delta
              FROM moved m JOIN proofs p ON p.org_id = m.org_id AND p.evidence_id = m.id WHERE m.kind = 'evidence') m
     CROSS JOIN LATERAL cells_of(m.owner_id, m.counted) t GROUP BY 1, 2, 3, 4, 5, 6 HAVING sum(m.delta) <> 0
    ON CONFLICT (org_id, kind, owner_id, cell, department, sensitive) DO UPDATE SET rows = c.rows + EXCLUDED.rows;
  ELSE
    INSERT INTO row_counts AS c (org_id, kind, owner_id, cell, department, sensitive, rows)
    SELECT m.org_id, m.kind, t.owner, t.cell, coalesce(m.department, ''), m.sensitive, -count(*)
      FROM (SELECT org_id, kind, owner_id, department, sensitive, counted FROM old_rows
            UNION ALL
            SELECT r.org_id, 'proof', r.owner_id, r.department, r.sensitive, ARRAY['all']
              FROM old_rows r JOIN proofs p ON p.org_id = r.org_id AND p.evidence_id = r.id WHERE r.kind = 'evidence') m
     CROSS JOIN LATERAL cells_of(m.owner_id, m.counted) t GROUP BY 1, 2, 3, 4, 5, 6
    ON CONFLICT (org_id, kind, owner_id, cell, department, sensitive) DO UPDATE SET rows = c.rows + EXCLUDED.rows;
  END IF;
  DELETE FROM row_counts c WHERE c.rows = 0 AND c.org_id IN (SELECT org_id FROM old_rows);
  RETURN NULL;
END $$;

CREATE FUNCTION count_proofs() RETURNS trigger LANGUAGE plpgsql SET search_path = risk, pg_temp AS $$
BEGIN
  INSERT INTO row_counts AS c (org_id, kind, owner_id, cell, department, sensitive, rows)
  SELECT r.org_id, 'proof', t.owner, t.cell, coalesce(r.department, ''), r.sensitive, count(*)
    FROM new_rows p JOIN resources r ON r.org_id = p.org_id AND r.kind = 'evidence' AND r.id = p.evidence_id
   CROSS JOIN LATERAL cells_of(r.owner_id, ARRAY['all']) t GROUP BY 1, 2, 3, 4, 5, 6
  ON CONFLICT (org_id, kind, owner_id, cell, department, sensitive) DO UPDATE SET rows = c.rows + EXCLUDED.rows;
  RETURN NULL;
END $$;

CREATE TRIGGER resources_counted AFTER INSERT ON resources
  REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION count_added();
CREATE TRIGGER resources_recounted AFTER UPDATE ON resources
  REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION count_moved();
CREATE TRIGGER resources_uncounted AFTER DELETE ON resources
  REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION count_moved();
CREATE TRIGGER proofs_counted AFTER INSERT ON proofs
  REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION count_proofs();

-- By how much the number of open risks with a rating changed in each month, so that a chart of the past reads the counts of
-- today and takes off what came since: kept by triggers on the counts, with what row filters look at.
CREATE TABLE rating_changes (
  org_id     text           NOT NULL COLLATE "C",
  owner_id   text           NOT NULL COLLATE "C",
  month      timestamptz(3) NOT NULL,
  cell       text           NOT NULL COLLATE "C",
  department text           NOT NULL COLLATE "C",
  sensitive  boolean        NOT NULL,
  delta      integer        NOT NULL,
  PRIMARY KEY (org_id, owner_id, month, cell, department, sensitive),
  CONSTRAINT rating_changes_times CHECK (month >= '0001-01-01 00:00:00+00' AND month < '10000-01-01 00:00:00+00')
);
CREATE FUNCTION note_ratings() RETURNS trigger LANGUAGE plpgsql SET search_path = risk, pg_temp AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    INSERT INTO rating_changes AS c (org_id, owner_id, month, cell, department, sensitive, delta)
    SELECT n.org_id, n.owner_id, date_trunc('month', now(), 'UTC'), n.cell, n.department, n.sensitive, n.rows
      FROM new_counts n WHERE n.kind = 'risk' AND n.cell LIKE 'current:%' AND n.rows <> 0
    ON CONFLICT (org_id, owner_id, month, cell, department, sensitive) DO UPDATE SET delta = c.delta + EXCLUDED.delta;
  ELSE
    INSERT INTO rating_changes AS c (org_id, owner_id, month, cell, department, sensitive, delta)
    SELECT n.org_id, n.owner_id, date_trunc('month', now(), 'UTC'), n.cell, n.department, n.sensitive, n.rows - o.rows
      FROM new_counts n JOIN old_counts o USING (org_id, kind, owner_id, cell, department, sensitive)
     WHERE n.kind = 'risk' AND n.cell LIKE 'current:%' AND n.rows <> o.rows
    ON CONFLICT (org_id, owner_id, month, cell, department, sensitive) DO UPDATE SET delta = c.delta + EXCLUDED.delta;
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER row_counts_noted AFTER INSERT ON row_counts
  REFERENCING NEW TABLE AS new_counts FOR EACH STATEMENT EXECUTE FUNCTION note_ratings();
CREATE TRIGGER row_counts_renoted AFTER UPDATE ON row_counts
  REFERENCING OLD TABLE AS old_counts NEW TABLE AS new_counts FOR EACH STATEMENT EXECUTE FUNCTION note_ratings();

-- What the coverage of each month is made of, kept by triggers on its facts, which retention removes: by how much the number
-- of valid evidence rows of a control changed in each month, with what row filters look at (evidence that ends is taken off
-- in the month of its end already when it is approved), and what a control was at the end of each month in which it changed.
CREATE TABLE evidence_changes (
  org_id     text           NOT NULL COLLATE "C",
  owner_id   text           NOT NULL COLLATE "C",
  control_id text           NOT NULL COLLATE "C",
  month      timestamptz(3) NOT NULL,
  department text           NOT NULL COLLATE "C",
  sensitive  boolean        NOT NULL,
  delta      integer        NOT NULL,
  PRIMARY KEY (org_id, owner_id, control_id, month, department, sensitive),
  CONSTRAINT evidence_changes_times CHECK (month >= '0001-01-01 00:00:00+00' AND month < '10000-01-01 00:00:00+00')
);
CREATE TABLE control_changes (
  org_id       text           NOT NULL COLLATE "C",
  control_id   text           NOT NULL COLLATE "C",
  month        timestamptz(3) NOT NULL,
  applicable   boolean        NOT NULL,
  coverage_ids text[]         NOT NULL,
  PRIMARY KEY (org_id, control_id, month),
  CONSTRAINT control_changes_times CHECK (month >= '0001-01-01 00:00:00+00' AND month < '10000-01-01 00:00:00+00')
);

-- The months in which evidence that is valid from now on begins and ends.
CREATE FUNCTION months_of(owner_id text, control_ids text[], valid_until timestamptz)
RETURNS TABLE (owner text, control text, month timestamptz, delta integer) LANGUAGE sql STABLE AS $$
  SELECT o.owner, c.control, date_trunc('month', m.at, 'UTC'), m.delta
    FROM (VALUES (''), (owner_id)) o (owner), unnest(control_ids) c (control), (VALUES (now(), 1), (valid_until, -1)) m (at, delta)
   WHERE o.owner IS NOT NULL AND m.at IS NOT NULL AND (valid_until IS NULL OR valid_until > now())
$$;

CREATE FUNCTION note_evidence() RETURNS trigger LANGUAGE plpgsql SET search_path = risk, pg_temp AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    INSERT INTO evidence_changes AS c (org_id, owner_id, control_id, month, department, sensitive, delta)
    SELECT f.org_id, m.owner, m.control, m.month, coalesce(f.department, ''), f.sensitive, sum(m.delta)
      FROM new_facts f CROSS JOIN LATERAL months_of(f.owner_id, f.control_ids, f.valid_until) m
     WHERE f.approved AND f.to_revision IS NULL GROUP BY 1, 2, 3, 4, 5, 6 HAVING sum(m.delta) <> 0
    ON CONFLICT (org_id, owner_id, control_id, month, department, sensitive) DO UPDATE SET delta = c.delta + EXCLUDED.delta;
  ELSE
    -- Facts that end now; those that ended before are only removed.
    INSERT INTO evidence_changes AS c (org_id, owner_id, control_id, month, department, sensitive, delta)
    SELECT f.org_id, m.owner, m.control, m.month, coalesce(f.department, ''), f.sensitive, -sum(m.delta)
      FROM old_facts f CROSS JOIN LATERAL months_of(f.owner_id, f.control_ids, f.valid_until) m
     WHERE f.approved AND f.to_revision IS NULL GROUP BY 1, 2, 3, 4, 5, 6 HAVING sum(m.delta) <> 0
    ON CONFLICT (org_id, owner_id, control_id, month, department, sensitive) DO UPDATE SET delta = c.delta + EXCLUDED.delta;
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER evidence_facts_noted AFTER INSERT ON evidence_facts
  REFERENCING NEW TABLE AS new_facts FOR EACH STATEMENT EXECUTE FUNCTION note_evidence();
CREATE TRIGGER evidence_facts_ended AFTER UPDATE ON evidence_facts
  REFERENCING OLD TABLE AS old_facts FOR EACH STATEMENT EXECUTE FUNCTION note_evidence();
CREATE TRIGGER evidence_facts_removed AFTER DELETE ON evidence_facts
  REFERENCING OLD TABLE AS old_facts FOR EACH STATEMENT EXECUTE FUNCTION note_evidence();

CREATE FUNCTION note_controls() RETURNS trigger LANGUAGE plpgsql SET search_path = risk, pg_temp AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    INSERT INTO control_changes (org_id, control_id, month, applicable, coverage_ids)
    SELECT f.org_id, f.control_id, date_trunc('month', now(), 'UTC'), f.applicable, f.coverage_ids
      FROM new_facts f WHERE f.to_revision IS NULL AND f.coverage_ids <> '{}'
    ON CONFLICT (org_id, control_id, month) DO UPDATE SET applicable = EXCLUDED.applicable, coverage_ids = EXCLUDED.coverage_ids;
  ELSE
    INSERT INTO control_changes (org_id, control_id, month, applicable, coverage_ids)
    SELECT f.org_id, f.control_id, date_trunc('month', now(), 'UTC'), false, '{}'
      FROM old_facts f WHERE f.to_revision IS NULL AND f.coverage_ids <> '{}'
    ON CONFLICT (org_id, control_id, month) DO UPDATE SET applicable = EXCLUDED.applicable, coverage_ids = EXCLUDED.coverage_ids;
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER control_facts_noted AFTER INSERT ON control_facts
  REFERENCING NEW TABLE AS new_facts FOR EACH STATEMENT EXECUTE FUNCTION note_controls();
CREATE TRIGGER control_facts_ended AFTER UPDATE ON control_facts
  REFERENCING OLD TABLE AS old_facts FOR EACH STATEMENT EXECUTE FUNCTION note_controls();
CREATE TRIGGER control_facts_removed AFTER DELETE ON control_facts
  REFERENCING OLD TABLE AS old_facts FOR EACH STATEMENT EXECUTE FUNCTION note_controls();

-- Every key that ever signed envelopes, so that old ones can be verified. A key is published if it has a MAC by a server
-- secret: `id:base64url` per secret, separated by spaces.
CREATE TABLE signing_keys (
  kid           text PRIMARY KEY COLLATE "C",
  jwk           text           NOT NULL,
  first_used_at timestamptz(3) NOT NULL,
  macs          text,
  CONSTRAINT signing_keys_times CHECK (first_used_at >= '0001-01-01 00:00:00+00' AND first_used_at < '10000-01-01 00:00:00+00'),
  CONSTRAINT signing_keys_json CHECK (jwk::json IS NOT NULL)
);

-- The organisation of an event, and the attributes of its row for row filters, so that the audit of a hidden row is
-- hidden too.
ALTER TABLE audit_events
  ADD COLUMN org_id     text COLLATE "C" GENERATED ALWAYS AS (detail::jsonb ->> 'orgId') STORED,
  ADD COLUMN owner_id   text COLLATE "C" GENERATED ALWAYS AS (detail::jsonb ->> 'ownerId') STORED,
  ADD COLUMN department text GENERATED ALWAYS AS (detail::jsonb ->> 'department') STORED,
  ADD COLUMN sensitive  boolean GENERATED ALWAYS AS (coalesce((detail::jsonb ->> 'sensitive')::boolean, false)) STORED;
CREATE INDEX audit_events_by_org ON audit_events (org_id, at, id);
-- Other filters name what no second organisation has: actors and rows.
CREATE INDEX audit_events_by_org_action ON audit_events (org_id, action, at, id);

-- Evidence expires and acceptances run out without a write. Each time at which some did becomes a revision of that time,
-- before any later one is made, so concurrent reads and writes make no difference. The caller has locked the
-- organisation.
CREATE FUNCTION end_what_ran_out(of_org text, up_to timestamptz) RETURNS void
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

-- The next revision of an organisation. Locks its row until the transaction ends, so changes of one organisation are
-- serialised, and times of revisions never run backwards.
CREATE FUNCTION next_revision(of_org text, at timestamptz) RETURNS TABLE (revision bigint, revised_at timestamptz)
LANGUAGE plpgsql SET search_path = risk, pg_temp AS $$
#variable_conflict use_column
DECLARE
  made   bigint;
  moment timestamptz;
BEGIN
  PERFORM 1 FROM orgs WHERE org_id = of_org FOR NO KEY UPDATE;
  PERFORM end_what_ran_out(of_org, at);
  UPDATE orgs SET revision = revision + 1, revised_at = greatest(revised_at, at) WHERE org_id = of_org
    RETURNING revision, revised_at INTO made, moment;
  INSERT INTO revisions (org_id, revision, created_at) VALUES (of_org, made, moment);
  RETURN QUERY SELECT made, moment;
END $$;

-- The newest revision. One statement reads it and whether something has run out since, so that no concurrent change can
-- hide it.
CREATE FUNCTION current_revision(of_org text, at timestamptz) RETURNS bigint
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
    PERFORM end_what_ran_out(of_org, at);
    SELECT o.revision INTO newest FROM orgs o WHERE o.org_id = of_org;
  END IF;
  RETURN newest;
END $$;
