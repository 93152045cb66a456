-- Up Migration

-- Requests that must be known later. A row is a claim on an Idempotency-Key (claim is set), or a promise to tell an outcome
-- (promised), or both. Until a promise is done its body is kept, and any process may take it: lease_owner has it until
-- lease_until, by the clock of the database. A claim without an answer whose lease is over is free for the same request.
CREATE TABLE jobs (
  job_id        text        PRIMARY KEY COLLATE "C",
  family_id     text        NOT NULL COLLATE "C",
  claim         bytea       UNIQUE,
  fingerprint   text        COLLATE "C",
  promised      boolean     NOT NULL DEFAULT false,
  status        text        NOT NULL,
  body          text,
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
  CHECK (status IN ('queued', 'running', 'done'))
);

-- Promises that are not kept yet, the oldest first.
CREATE INDEX jobs_waiting ON jobs (created_at) WHERE promised AND status <> 'done';
CREATE INDEX jobs_by_age ON jobs (created_at);

-- Down Migration

DROP TABLE jobs;
