-- Up Migration

-- Requests that must be known later. A row is a claim on an Idempotency-Key (claim is set), or a promise to tell an outcome
-- (promised), or both. Until a promise is done its body is kept, and any process may take it: lease_owner has it until
-- lease_until, by the clock of the database. A claim without an answer whose lease is over is free for the same request.
CREATE TABLE jobs (
  job_id        text        PRIMARY KEY COLLATE "C",
  family_id     text        NOT NULL COLLATE "C",
  -- The name of the identity that signs what is sent for it, on a ledger with identities; it never changes.
  identity      text        COLLATE "C",
  claim         bytea       UNIQUE,
  fingerprint   text        COLLATE "C",
  promised      boolean     NOT NULL DEFAULT false,
  status        text        NOT NULL,
  body          text,
  -- Members of the body that must not be stored in clear, as <id of the server secret>:<ciphertext>; gone with the body.
  sealed        text        COLLATE "C",
  results       text,
  result        text,
  answer_status integer,
  answer_body   text,
  answer_async  boolean     NOT NULL DEFAULT false,
  lease_owner   text,
  lease_until   timestamptz,
  not_before    timestamptz,
  created_at    timestamptz NOT NULL,
  done_at       timestamptz,
  CHECK ((claim IS NULL) = (fingerprint IS NULL)),
  CHECK (status IN ('queued', 'running', 'done')),
  -- Times that RFC 3339 can say: a row that no reader could show would make the list of all others fail.
  CONSTRAINT jobs_times CHECK (
    least(lease_until, not_before, created_at, done_at) >= '0001-01-01 00:00:00+00'
    AND greatest(lease_until, not_before, created_at, done_at) < '10000-01-01 00:00:00+00')
);

-- Promises that are not kept yet, the oldest first.
CREATE INDEX jobs_waiting ON jobs (created_at) WHERE promised AND status <> 'done';
CREATE INDEX jobs_by_age ON jobs (created_at);
-- What retention removes, in the order in which it does; each kind is kept for another time.
CREATE INDEX jobs_done ON jobs (done_at) WHERE claim IS NULL AND done_at IS NOT NULL;
CREATE INDEX jobs_done_claimed ON jobs (done_at) WHERE claim IS NOT NULL AND done_at IS NOT NULL;
CREATE INDEX jobs_unanswered ON jobs (created_at) WHERE NOT promised AND answer_status IS NULL;

-- Receivers of events, each in order. The cursor is after the newest acknowledged event, and moves in this row alone: the
-- process that has lease_owner until lease_until, by the clock of the database, delivers. version counts changes by
-- operators, so that a delivery that began before one changes nothing.
CREATE TABLE subscriptions (
  subscription_id text        PRIMARY KEY COLLATE "C",
  url             text        NOT NULL,
  channel         text        NOT NULL COLLATE "C",
  types           text[],
  events          text[],
  secrets         jsonb       NOT NULL,
  cursor          text        NOT NULL COLLATE "C",
  state           text        NOT NULL,
  failing_since   timestamptz,
  attempts        integer     NOT NULL DEFAULT 0,
  problem         text,
  not_before      timestamptz,
  delivered_at    timestamptz,
  version         integer     NOT NULL DEFAULT 1,
  lease_owner     text,
  lease_until     timestamptz,
  folded          text        NOT NULL,
  created_at      timestamptz NOT NULL,
  changed_at      timestamptz NOT NULL,
  -- stopped: an event was not acknowledged for 72 hours.
  CHECK (state IN ('active', 'paused', 'stopped')),
  CONSTRAINT subscriptions_times CHECK (
    least(failing_since, not_before, delivered_at, lease_until, created_at, changed_at) >= '0001-01-01 00:00:00+00'
    AND greatest(failing_since, not_before, delivered_at, lease_until, created_at, changed_at) < '10000-01-01 00:00:00+00')
);

-- Down Migration

DROP TABLE subscriptions;
DROP TABLE jobs;
