-- Up Migration

-- Every row belongs to an environment (`live`, `test`, ...), which is a value without a table of its own.
-- Texts sent by clients are text, never jsonb, which refuses U+0000 and rewrites numbers. Rows that no reader could show
-- are refused throughout, so that one of them cannot make a list of the others fail: a time that is none or beyond what
-- RFC 3339 can say, and a text that is no JSON.

-- The grants of a key: {scopes, version, mac}; see domain/key.ts. A list of keys shows the scopes.
ALTER TABLE api_keys ADD CONSTRAINT api_keys_scopes CHECK (
  jsonb_typeof(grants -> 'scopes') IS NOT DISTINCT FROM 'array'
  AND NOT jsonb_path_exists(grants, 'strict $.scopes[*] ? (@.type() != "string")'));

-- folded is made of the texts of a row that `q` of its list searches: see libs/paging. Every sequence of one to three
-- characters in a word of it is an element of the index, with those who own the row. pg_trgm would not do: where the
-- locale is C it finds nothing in other scripts, and for a word of two letters it reads its whole index.
CREATE FUNCTION grams(folded text, VARIADIC scope text[]) RETURNS text[] LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN ARRAY(SELECT substr(word, at, length)
               FROM string_to_table(folded, ' ') word, generate_series(1, 3) length,
                    generate_series(1, char_length(word) - length + 1) at)
       || ARRAY(SELECT '=' || owner FROM unnest(scope) owner);

-- The words of cases and subjects, which are many: a row is written with its case or subject and never changes, so that
-- their changes write nothing to this index. They have the same text in a column, for orders that are walked.
CREATE TABLE texts (
  environment text NOT NULL COLLATE "C",
  kind        text NOT NULL COLLATE "C" CHECK (kind IN ('case', 'subject')),
  id          text NOT NULL COLLATE "C",
  folded      text NOT NULL COLLATE "C",
  PRIMARY KEY (environment, kind, id)
);
CREATE INDEX texts_by_gram ON texts USING gin (grams(folded, environment, kind)) WITH (gin_pending_list_limit = 1024);

-- mac covers all other columns but folded, under a key that the database never sees; see domain/signed-row.ts.
CREATE TABLE venues (
  environment    text NOT NULL COLLATE "C",
  venue_id       text NOT NULL COLLATE "C",
  name           text NOT NULL,
  active         boolean NOT NULL,
  record_version integer NOT NULL,
  created_at     timestamptz(3) NOT NULL,
  updated_at     timestamptz(3) NOT NULL,
  mac            text NOT NULL,
  folded         text NOT NULL COLLATE "C",
  PRIMARY KEY (environment, venue_id),
  CONSTRAINT venues_times CHECK (
    least(created_at, updated_at) >= '0001-01-01 00:00:00+00' AND greatest(created_at, updated_at) < '10000-01-01 00:00:00+00')
);

-- rules is JSON text, or null where a decision must name its outcome. record_version is incremented by each change, which
-- is also a ledger record, as for subjects, venues and keys (which have theirs in `grants`). mac covers all other columns
-- but folded, so database access alone cannot change what the rules decide.
CREATE TABLE policies (
  environment    text NOT NULL COLLATE "C",
  policy_version text NOT NULL COLLATE "C",
  status         text NOT NULL CHECK (status IN ('draft', 'active', 'retired')),
  rules          text,
  created_at     timestamptz(3) NOT NULL,
  updated_at     timestamptz(3) NOT NULL,
  mac            text NOT NULL,
  record_version integer NOT NULL,
  folded         text NOT NULL COLLATE "C",
  PRIMARY KEY (environment, policy_version),
  CONSTRAINT policies_times CHECK (
    least(created_at, updated_at) >= '0001-01-01 00:00:00+00' AND greatest(created_at, updated_at) < '10000-01-01 00:00:00+00'),
  CONSTRAINT policies_json CHECK (rules IS NULL OR rules::json IS NOT NULL)
);

-- Columns from policy_version to sealed_at belong to the current decision. mac covers what a case is decided by, including
-- its attachments, under a key that the database never sees, so database access alone cannot change what is decided.
CREATE TABLE cases (
  case_id                  text PRIMARY KEY COLLATE "C",
  environment              text NOT NULL COLLATE "C",
  subject_ref              text NOT NULL COLLATE "C",
  case_type                text NOT NULL,
  status                   text NOT NULL,
  venue_ids                text[] NOT NULL,
  external_ref             text,
  requested_policy_version text,
  metadata                 text NOT NULL,
  attachment_count         integer NOT NULL DEFAULT 0,
  policy_version           text,
  decision                 text,
  decision_id              text,
  ledger_record_id         text,
  decided_at               timestamptz(3),
  sealed_at                timestamptz(3),
  created_at               timestamptz(3) NOT NULL,
  updated_at               timestamptz(3) NOT NULL,
  expires_at               timestamptz(3) NOT NULL,
  mac                      text NOT NULL,
  folded                   text NOT NULL DEFAULT '' COLLATE "C",
  CONSTRAINT cases_times CHECK (
    least(decided_at, sealed_at, created_at, updated_at, expires_at) >= '0001-01-01 00:00:00+00'
    AND greatest(decided_at, sealed_at, created_at, updated_at, expires_at) < '10000-01-01 00:00:00+00'),
  CONSTRAINT cases_json CHECK (metadata::json IS NOT NULL)
);
CREATE INDEX cases_that_may_expire ON cases (expires_at) WHERE status IN ('received', 'in_review');
-- Lists for operators: by age, by state and age, by subject, by last change; and the most recently decided ones.
CREATE INDEX cases_by_age ON cases (environment, created_at, case_id);
CREATE INDEX cases_by_status ON cases (environment, status, created_at, case_id);
CREATE INDEX cases_by_subject ON cases (environment, subject_ref, created_at, case_id);
CREATE INDEX cases_by_change ON cases (environment, updated_at, case_id);
CREATE INDEX cases_by_status_and_change ON cases (environment, status, updated_at, case_id);
-- For the cases of a period by their last change: those of each state and day of creation are in that order. With the time
-- of creation, so that the rows beside the period on its first and last day are told from the index.
CREATE INDEX cases_by_day_and_change ON cases (
  environment, status, ((created_at AT TIME ZONE 'UTC')::date), updated_at, case_id) INCLUDE (created_at);
CREATE INDEX cases_by_decision ON cases (environment, decided_at, case_id) WHERE decided_at IS NOT NULL;
-- This one, and those like it below: the rows of a former server secret, by the id of the secret that made the MAC.
CREATE INDEX cases_by_secret ON cases (split_part(mac, ':', 1));

-- How many cases are in each state, kept in the transaction of the case. A transaction adds to a shard that no other one
-- holds, so that none waits for another here.
CREATE TABLE case_counts (
  environment text NOT NULL COLLATE "C",
  status      text NOT NULL COLLATE "C",
  shard       integer NOT NULL,
  cases       bigint NOT NULL,
  PRIMARY KEY (environment, status, shard)
);
-- A shard of a table of counts that no other transaction holds, until this one ends.
CREATE FUNCTION free_shard(of_table text) RETURNS integer LANGUAGE plpgsql SET search_path = gate, pg_temp AS $$
BEGIN
  FOR step IN 0..63 LOOP
    IF pg_try_advisory_xact_lock(hashtext(of_table), (pg_backend_pid() + step) % 64) THEN
      RETURN (pg_backend_pid() + step) % 64;
    END IF;
  END LOOP;
  RETURN 64 + pg_backend_pid();  -- All others are taken.
END
$$;
CREATE FUNCTION add_cases(to_environment text, to_status text, added bigint)
RETURNS void LANGUAGE plpgsql SET search_path = gate, pg_temp AS $$
DECLARE
  own integer := free_shard('gate.case_counts');
BEGIN
  INSERT INTO case_counts AS c (environment, status, shard, cases) VALUES (to_environment, to_status, own, added)
  ON CONFLICT (environment, status, shard) DO UPDATE SET cases = c.cases + EXCLUDED.cases;
END
$$;
-- For each statement: one that changes many cases adds to each state once.
CREATE FUNCTION count_cases() RETURNS trigger LANGUAGE plpgsql SET search_path = gate, pg_temp AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    PERFORM add_cases(a.environment, a.status, count(*)) FROM arrived a GROUP BY a.environment, a.status;
  ELSIF TG_OP = 'DELETE' THEN
    PERFORM add_cases(d.environment, d.status, -count(*)) FROM departed d GROUP BY d.environment, d.status;
  ELSE
    PERFORM add_cases(m.environment, m.status, sum(m.cases)::bigint)
       FROM (SELECT environment, status, 1 AS cases FROM arrived
             UNION ALL SELECT environment, status, -1 FROM departed) m
      GROUP BY m.environment, m.status HAVING sum(m.cases) <> 0;
  END IF;
  RETURN NULL;
END
$$;
CREATE TRIGGER cases_arrive AFTER INSERT ON cases REFERENCING NEW TABLE AS arrived
  FOR EACH STATEMENT EXECUTE FUNCTION count_cases();
CREATE TRIGGER cases_move AFTER UPDATE ON cases REFERENCING OLD TABLE AS departed NEW TABLE AS arrived
  FOR EACH STATEMENT EXECUTE FUNCTION count_cases();
CREATE TRIGGER cases_depart AFTER DELETE ON cases REFERENCING OLD TABLE AS departed
  FOR EACH STATEMENT EXECUTE FUNCTION count_cases();

CREATE TABLE attachments (
  attachment_id text PRIMARY KEY COLLATE "C",
  case_id       text NOT NULL COLLATE "C" REFERENCES cases,
  position      integer NOT NULL,
  kind          text NOT NULL,
  ref           text NOT NULL COLLATE "C",
  sha256        text NOT NULL,
  media_type    text NOT NULL,
  size_bytes    bigint NOT NULL,
  label         text,
  added_at      timestamptz(3) NOT NULL,
  CONSTRAINT attachments_ref UNIQUE (case_id, ref),
  CONSTRAINT attachments_times CHECK (added_at >= '0001-01-01 00:00:00+00' AND added_at < '10000-01-01 00:00:00+00')
);

-- A case has at most one referral and one final decision under each policy version. mac covers the document that a seal of
-- this decision would contain, under a key that the database never sees, so database access alone cannot change what is
-- sealed. Empty for referrals, which are never sealed.
CREATE TABLE decisions (
  decision_id    text PRIMARY KEY COLLATE "C",
  case_id        text NOT NULL COLLATE "C" REFERENCES cases,
  policy_version text NOT NULL COLLATE "C",
  is_final       boolean NOT NULL,
  decision       text NOT NULL,
  reason_codes   text[] NOT NULL,
  valid_until    timestamptz(3),
  decided_at     timestamptz(3) NOT NULL,
  decided_by     text NOT NULL,
  mac            text NOT NULL,
  CONSTRAINT decisions_once UNIQUE (case_id, policy_version, is_final),
  CONSTRAINT decisions_times CHECK (
    least(valid_until, decided_at) >= '0001-01-01 00:00:00+00' AND greatest(valid_until, decided_at) < '10000-01-01 00:00:00+00')
);
CREATE INDEX decisions_by_secret ON decisions (split_part(mac, ':', 1));

-- hash is SHA-256 of the canonical form of the other columns; data is canonical JSON. Events never change.
CREATE TABLE timeline (
  case_id   text NOT NULL COLLATE "C" REFERENCES cases,
  seq       integer NOT NULL,
  at        timestamptz(3) NOT NULL,
  event     text NOT NULL,
  actor     text NOT NULL,
  data      text NOT NULL,
  prev_hash text,
  hash      text NOT NULL,
  PRIMARY KEY (case_id, seq),
  CONSTRAINT timeline_times CHECK (at >= '0001-01-01 00:00:00+00' AND at < '10000-01-01 00:00:00+00'),
  CONSTRAINT timeline_json CHECK (data::json IS NOT NULL)
);
CREATE FUNCTION refuse_timeline_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'events of a timeline are never changed' USING ERRCODE = 'insufficient_privilege';
END
$$;
CREATE TRIGGER timeline_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON timeline
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_timeline_change();

-- document is the text that was hashed and is stored in the ledger. proof is against the first checkpoint that covered
-- the seal; once set it never changes.
CREATE TABLE seals (
  case_id          text NOT NULL COLLATE "C" REFERENCES cases,
  policy_version   text NOT NULL COLLATE "C",
  decision_id      text NOT NULL REFERENCES decisions,
  ledger_record_id text NOT NULL COLLATE "C" UNIQUE,
  document         text NOT NULL,
  seal_hash        text NOT NULL,
  seal_version     integer NOT NULL,
  status           text NOT NULL CHECK (status IN ('pending', 'sealed', 'conflict')),
  created_at       timestamptz(3) NOT NULL,
  sealed_at        timestamptz(3),
  proof            text,
  PRIMARY KEY (case_id, policy_version),
  CONSTRAINT seals_times CHECK (
    least(created_at, sealed_at) >= '0001-01-01 00:00:00+00' AND greatest(created_at, sealed_at) < '10000-01-01 00:00:00+00'),
  CONSTRAINT seals_json CHECK (document::json IS NOT NULL)
);
CREATE INDEX seals_without_proof ON seals (sealed_at) WHERE status = 'sealed' AND proof IS NULL;

-- Records waiting to be written to the ledger; a row is deleted once its record is there.
CREATE TABLE outbox (
  outbox_id       bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  record_id       text NOT NULL UNIQUE,
  record_type     text NOT NULL,
  data            text NOT NULL,
  attempts        integer NOT NULL DEFAULT 0,
  next_attempt_at timestamptz(3) NOT NULL,
  CONSTRAINT outbox_times CHECK (next_attempt_at >= '0001-01-01 00:00:00+00' AND next_attempt_at < '10000-01-01 00:00:00+00'),
  CONSTRAINT outbox_json CHECK (data::json IS NOT NULL)
);
CREATE INDEX outbox_due ON outbox (next_attempt_at);

-- One row for each subject. mac covers all other columns but folded, under a key that the database never sees.
CREATE TABLE eligibility (
  environment    text NOT NULL COLLATE "C",
  subject_ref    text NOT NULL COLLATE "C",
  record_version integer NOT NULL,
  status         text NOT NULL,
  document       text NOT NULL,
  changed_at     timestamptz(3) NOT NULL,
  mac            text NOT NULL,
  folded         text NOT NULL DEFAULT '' COLLATE "C",
  PRIMARY KEY (environment, subject_ref),
  CONSTRAINT eligibility_times CHECK (changed_at >= '0001-01-01 00:00:00+00' AND changed_at < '10000-01-01 00:00:00+00'),
  CONSTRAINT eligibility_json CHECK (document::json IS NOT NULL)
);
-- Lists of subjects by status and by last change.
CREATE INDEX eligibility_by_status ON eligibility (environment, status, subject_ref);
CREATE INDEX eligibility_by_change ON eligibility (environment, changed_at, subject_ref);
CREATE INDEX eligibility_by_secret ON eligibility (split_part(mac, ':', 1));
-- For the list of unconfirmed subjects; see readUnconfirmed. The document is canonical JSON, in which a quote inside a
-- string is escaped, so this matches the member only, never a client's text.
CREATE INDEX eligibility_unconfirmed ON eligibility (environment, subject_ref)
  WHERE status <> 'revoked' AND strpos(document, '"unconfirmed":"') > 0;

-- All versions. A record older than the newest of these is refused by the gate.
CREATE TABLE eligibility_history (
  environment    text NOT NULL COLLATE "C",
  subject_ref    text NOT NULL COLLATE "C",
  record_version integer NOT NULL,
  event          text NOT NULL,
  actor          text NOT NULL,
  document       text NOT NULL,
  changed_at     timestamptz(3) NOT NULL,
  PRIMARY KEY (environment, subject_ref, record_version),
  CONSTRAINT eligibility_history_times CHECK (changed_at >= '0001-01-01 00:00:00+00' AND changed_at < '10000-01-01 00:00:00+00'),
  CONSTRAINT eligibility_history_json CHECK (document::json IS NOT NULL)
);

-- Answers to replay, kept for 30 days. Written in the transaction of the effect.
CREATE TABLE claims (
  claim       bytea PRIMARY KEY,
  fingerprint text NOT NULL,
  body        text NOT NULL,
  created_at  timestamptz(3) NOT NULL,
  CONSTRAINT claims_times CHECK (created_at >= '0001-01-01 00:00:00+00' AND created_at < '10000-01-01 00:00:00+00')
);
CREATE INDEX claims_by_age ON claims (created_at);
CREATE INDEX claims_by_secret ON claims (split_part(fingerprint, ':', 1), created_at);

-- Decisions of the gate. process and seq number them without gaps, so decisions lost in a crash can be named. hash is over
-- the columns of the decision and the hash of the previous one of its process; see libs/envelope/src/decision-chain.ts.
CREATE TABLE gate_decisions (
  decision_id      text PRIMARY KEY COLLATE "C",
  process          text NOT NULL COLLATE "C",
  seq              bigint NOT NULL,
  environment      text NOT NULL COLLATE "C",
  key_id           text NOT NULL,
  request_id       text NOT NULL,
  subject_ref      text,
  venue_id         text,
  action           text NOT NULL,
  decision         text NOT NULL,
  reason_code      text NOT NULL,
  fail_closed      boolean NOT NULL,
  policy_version   text,
  ledger_record_id text,
  record_version   integer,
  evaluated_at     timestamptz(3) NOT NULL,
  hash             bytea,
  CONSTRAINT gate_decisions_times CHECK (evaluated_at >= '0001-01-01 00:00:00+00' AND evaluated_at < '10000-01-01 00:00:00+00')
);
CREATE INDEX gate_decisions_by_environment ON gate_decisions (environment, evaluated_at, decision_id);
-- For their removal. Not by the column itself: a list of one environment must not be read in the order of all.
CREATE INDEX gate_decisions_by_age ON gate_decisions ((evaluated_at AT TIME ZONE 'UTC'));
-- What the list filters by, as hashes: one index for all filters and every combination of them. An index of its own for
-- each would double the cost of a decision; this one adds less than a tenth. The environment is in each hash, so that no
-- statement reads the entries of all its decisions to find those of one venue.
CREATE FUNCTION decision_marks(
  environment text, subject_ref text, venue_id text, decision text, reason_code text, key_id text)
RETURNS integer[] LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN ARRAY[hashtext(environment || ' subject ' || subject_ref), hashtext(environment || ' venue ' || venue_id),
  hashtext(environment || ' decision ' || decision), hashtext(environment || ' reason ' || reason_code),
  hashtext(environment || ' key ' || key_id)];
CREATE INDEX gate_decisions_by_mark ON gate_decisions USING gin (
  decision_marks(environment, subject_ref, venue_id, decision, reason_code, key_id)) WITH (gin_pending_list_limit = 4096);

-- How many decisions there were by hour (venue_id is empty), and by day and venue (empty for venues that do not exist, so
-- that a key cannot make rows here), so that a chart reads a few rows. Kept in the transaction of the decisions; each adds
-- to a shard that no other transaction holds.
CREATE TABLE decision_counts (
  environment text           NOT NULL COLLATE "C",
  span        text           NOT NULL COLLATE "C" CHECK (span IN ('hour', 'day')),
  starts_at   timestamptz(3) NOT NULL,
  venue_id    text           NOT NULL COLLATE "C",
  decision    text           NOT NULL COLLATE "C",
  shard       integer        NOT NULL,
  decisions   bigint         NOT NULL,
  PRIMARY KEY (environment, span, starts_at, venue_id, decision, shard),
  CONSTRAINT decision_counts_times CHECK (starts_at >= '0001-01-01 00:00:00+00' AND starts_at < '10000-01-01 00:00:00+00')
);
-- For their removal.
CREATE INDEX decision_counts_by_age ON decision_counts (starts_at);
CREATE FUNCTION count_decisions() RETURNS trigger LANGUAGE plpgsql SET search_path = gate, pg_temp AS $$
DECLARE
  own integer := free_shard('gate.decision_counts');
BEGIN
  INSERT INTO decision_counts AS c (environment, span, starts_at, venue_id, decision, shard, decisions)
  SELECT d.environment, 'hour', date_trunc('hour', d.evaluated_at, 'UTC'), '', d.decision, own, count(*)
    FROM logged d GROUP BY 1, 3, 5
  UNION ALL
  SELECT d.environment, 'day', date_trunc('day', d.evaluated_at, 'UTC'), coalesce(v.venue_id, ''), d.decision, own, count(*)
    FROM logged d LEFT JOIN venues v ON v.environment = d.environment AND v.venue_id = d.venue_id GROUP BY 1, 3, 4, 5
  ON CONFLICT (environment, span, starts_at, venue_id, decision, shard)
  DO UPDATE SET decisions = c.decisions + EXCLUDED.decisions;
  RETURN NULL;
END
$$;
CREATE TRIGGER gate_decisions_counted AFTER INSERT ON gate_decisions REFERENCING NEW TABLE AS logged
  FOR EACH STATEMENT EXECUTE FUNCTION count_decisions();

-- Declared ledger losses that were reviewed (subjects, keys, venues, policy versions and seals). Decides nothing:
-- deleting a row repeats the review, and a forged one leaves the list incomplete.
CREATE TABLE reviewed_losses (
  epoch       integer PRIMARY KEY,
  reviewed_at timestamptz(3) NOT NULL,
  CONSTRAINT reviewed_losses_times CHECK (reviewed_at >= '0001-01-01 00:00:00+00' AND reviewed_at < '10000-01-01 00:00:00+00')
);

-- Progress of the review of a declared loss: see data/loss-progress.ts. A process leases a part; if it stops, another
-- one continues after the last reviewed page. Like reviewed_losses, it decides nothing. Rows are deleted once the loss
-- is in reviewed_losses.
CREATE TABLE loss_reviews (
  epoch        integer NOT NULL,
  part         text COLLATE "C" NOT NULL,
  place        text[] NOT NULL,                 -- last row of the reviewed page
  changed_rows integer NOT NULL DEFAULT 0,      -- rows changed by the review
  is_done      boolean NOT NULL DEFAULT false,
  worker       text NOT NULL,
  leased_until timestamptz(3) NOT NULL,
  PRIMARY KEY (epoch, part),
  CONSTRAINT loss_reviews_times CHECK (leased_until >= '0001-01-01 00:00:00+00' AND leased_until < '10000-01-01 00:00:00+00')
);

-- The gate's look-up for all checks of a batch; see data/lookup-batch.ts. A function, so that each connection plans it
-- once: otherwise the planner prefers a custom plan for each small batch, and planning costs several times the
-- execution. Plans made while the tables were empty must not read all of them later, to scan or to hash them: hence
-- enable_seqscan and LATERAL (... OFFSET 0).
-- STABLE: everything in it, including functions of the ledger, uses the snapshot of the calling statement.
--
-- One row for each question whose key is live. Columns of the key are null where are_first is false, those of the venue
-- where venue_ids is null: most questions of a batch share few venues, and an earlier row has the columns. The guess_
-- arrays name expected versions of subjects, and possible ledger ids of these.
CREATE FUNCTION look_up(
  key_hashes bytea[], are_first boolean[], subject_refs text[], venue_ids text[], at_time timestamptz,
  of_channel text, later_ids text[], guess_environments text[], guess_subjects text[], guess_versions bigint[],
  guess_ids text[])
RETURNS TABLE (
  ord integer, is_standby boolean, held text[], conflict text,
  key_hash bytea, id text, owner_id text, family_id text, label text, key_prefix text, grants text, created_at timestamptz,
  expires_at timestamptz, overlap_until timestamptz, replaces text,
  record_version integer, status text, document text, changed_at timestamptz, mac text, newest_version integer,
  venue_name text, venue_active boolean, venue_version integer, venue_created_at timestamptz, venue_updated_at timestamptz,
  venue_mac text)
LANGUAGE plpgsql STABLE SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET jit = off AS $$
#variable_conflict use_column
DECLARE
  standby   boolean := pg_is_in_recovery();
  is_held   text[]  := ledger.held(of_channel, later_ids);
  conflicts text;
BEGIN
  IF cardinality(guess_ids) > 0 THEN
    SELECT ledger.conflict(of_channel, NULL, array_agg(g.id), array_agg('eligibility.record'::text),
                              array_agg(NULL::text), array_agg(e.document), array_agg(NULL::text))
      INTO conflicts
      FROM unnest(guess_environments, guess_subjects, guess_versions, guess_ids) g (environment, subject_ref, version, id)
      CROSS JOIN LATERAL (SELECT r.document FROM gate.eligibility r
                           WHERE r.environment = g.environment AND r.subject_ref = g.subject_ref
                             AND r.record_version = g.version OFFSET 0) e;
  END IF;
  RETURN QUERY
    SELECT q.ord::integer, standby, is_held, conflicts,
           CASE WHEN q.is_first THEN k.key_hash END, CASE WHEN q.is_first THEN k.id END,
           CASE WHEN q.is_first THEN k.owner_id END, CASE WHEN q.is_first THEN k.family_id END,
           CASE WHEN q.is_first THEN k.label END, CASE WHEN q.is_first THEN k.key_prefix END,
           CASE WHEN q.is_first THEN k.grants::text END, CASE WHEN q.is_first THEN k.created_at END,
           CASE WHEN q.is_first THEN k.expires_at END, CASE WHEN q.is_first THEN k.overlap_until END,
           CASE WHEN q.is_first THEN k.replaces END,
           e.record_version, e.status, e.document, e.changed_at, e.mac,
           (SELECT max(h.record_version) FROM gate.eligibility_history h
             WHERE h.environment = k.owner_id AND h.subject_ref = q.subject_ref),
           v.name, v.active, v.record_version, v.created_at, v.updated_at, v.mac
      FROM unnest(key_hashes, are_first, subject_refs, venue_ids) WITH ORDINALITY
           q (key_hash, is_first, subject_ref, venue_id, ord)
      -- liveKeyCondition of @sealgate/api-keys.
      CROSS JOIN LATERAL (SELECT * FROM gate.api_keys k WHERE k.key_hash = q.key_hash AND (k.revoked_at IS NULL AND
           (k.expires_at IS NULL OR k.expires_at > at_time::timestamptz) AND
           (k.overlap_until IS NULL OR k.overlap_until > at_time::timestamptz)) OFFSET 0) k
      LEFT JOIN LATERAL (SELECT * FROM gate.eligibility r
                          WHERE r.environment = k.owner_id AND r.subject_ref = q.subject_ref OFFSET 0) e ON true
      LEFT JOIN LATERAL (SELECT * FROM gate.venues d
                          WHERE d.environment = k.owner_id AND d.venue_id = q.venue_id OFFSET 0) v ON true;
END $$;
