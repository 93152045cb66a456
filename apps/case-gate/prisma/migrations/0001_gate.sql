-- Up Migration

-- Every row belongs to an environment (`live`, `test`, ...), which is a value without a table of its own.
-- Texts sent by clients are text, never jsonb, which refuses U+0000 and rewrites numbers.

-- mac covers all other columns, under a key that the database never sees; see domain/versioned-record.ts.
CREATE TABLE venues (
  environment    text NOT NULL COLLATE "C",
  venue_id       text NOT NULL COLLATE "C",
  name           text NOT NULL,
  active         boolean NOT NULL,
  record_version integer NOT NULL,
  created_at     timestamptz(3) NOT NULL,
  updated_at     timestamptz(3) NOT NULL,
  mac            text NOT NULL,
  PRIMARY KEY (environment, venue_id)
);

-- rules is JSON text, or null where a decision must name its outcome.
CREATE TABLE policies (
  environment    text NOT NULL COLLATE "C",
  policy_version text NOT NULL COLLATE "C",
  status         text NOT NULL CHECK (status IN ('draft', 'active', 'retired')),
  rules          text,
  created_at     timestamptz(3) NOT NULL,
  updated_at     timestamptz(3) NOT NULL,
  PRIMARY KEY (environment, policy_version)
);

-- Columns from policy_version to sealed_at belong to the current decision.
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
  expires_at               timestamptz(3) NOT NULL
);
CREATE INDEX cases_that_may_expire ON cases (expires_at) WHERE status IN ('received', 'in_review');

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
  CONSTRAINT attachments_ref UNIQUE (case_id, ref)
);

-- A case has at most one referral and one final decision under each policy version.
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
  CONSTRAINT decisions_once UNIQUE (case_id, policy_version, is_final)
);

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
  PRIMARY KEY (case_id, seq)
);

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
  PRIMARY KEY (case_id, policy_version)
);
CREATE INDEX seals_without_proof ON seals (sealed_at) WHERE status = 'sealed' AND proof IS NULL;

-- Records waiting to be written to the ledger; a row is deleted once its record is there.
CREATE TABLE outbox (
  outbox_id       bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  record_id       text NOT NULL UNIQUE,
  record_type     text NOT NULL,
  data            text NOT NULL,
  attempts        integer NOT NULL DEFAULT 0,
  next_attempt_at timestamptz(3) NOT NULL
);
CREATE INDEX outbox_due ON outbox (next_attempt_at);

-- One row for each subject. mac covers all other columns, under a key that the database never sees.
CREATE TABLE eligibility (
  environment    text NOT NULL COLLATE "C",
  subject_ref    text NOT NULL COLLATE "C",
  record_version integer NOT NULL,
  status         text NOT NULL,
  document       text NOT NULL,
  changed_at     timestamptz(3) NOT NULL,
  mac            text NOT NULL,
  PRIMARY KEY (environment, subject_ref)
);

-- All versions. A record older than the newest of these is refused by the gate.
CREATE TABLE eligibility_history (
  environment    text NOT NULL COLLATE "C",
  subject_ref    text NOT NULL COLLATE "C",
  record_version integer NOT NULL,
  event          text NOT NULL,
  actor          text NOT NULL,
  document       text NOT NULL,
  changed_at     timestamptz(3) NOT NULL,
  PRIMARY KEY (environment, subject_ref, record_version)
);

-- Answers to replay, kept for 30 days. Written in the transaction of the effect.
CREATE TABLE claims (
  claim       bytea PRIMARY KEY,
  fingerprint text NOT NULL,
  body        text NOT NULL,
  created_at  timestamptz(3) NOT NULL
);
CREATE INDEX claims_by_age ON claims (created_at);

-- Decisions of the gate. process and seq number them without gaps, so decisions lost in a crash can be named.
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
  evaluated_at     timestamptz(3) NOT NULL
);
CREATE INDEX gate_decisions_by_environment ON gate_decisions (environment, evaluated_at, decision_id);
CREATE INDEX gate_decisions_by_age ON gate_decisions (evaluated_at);

CREATE FUNCTION refuse_timeline_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'events of a timeline are never changed' USING ERRCODE = 'insufficient_privilege';
END
$$;
CREATE TRIGGER timeline_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON timeline
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_timeline_change();

-- Down Migration

DROP TABLE gate_decisions, claims, eligibility_history, eligibility, outbox, seals, timeline, decisions, attachments,
  cases, policies, venues;
DROP FUNCTION refuse_timeline_change;
