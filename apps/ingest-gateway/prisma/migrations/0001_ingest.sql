-- Up Migration

-- A deleted network keeps its row, so that its id is never reused.
CREATE TABLE networks (
  network_id      text PRIMARY KEY COLLATE "C",
  name            text,
  channels        text[]      NOT NULL CHECK (cardinality(channels) > 0),
  rate_per_second integer     CHECK (rate_per_second > 0),
  burst           integer     CHECK (burst > 0),
  created_at      timestamptz NOT NULL DEFAULT now(),
  deleted_at      timestamptz,
  CHECK ((rate_per_second IS NULL) = (burst IS NULL))
);

-- Results of requests, without the data of records. event_id starts with its time, so the newest is the highest. kind
-- is write or ping; status committed, rejected or unknown. The transaction of the first channel has columns of its
-- own (indexes is null where its records follow first_index without a gap); those of further channels are in more.
CREATE TABLE events (
  event_id        text        PRIMARY KEY COLLATE "C",
  network_id      text        NOT NULL COLLATE "C",
  key_id          text        NOT NULL,
  kind            text        NOT NULL,
  status          text        NOT NULL,
  types           jsonb       NOT NULL,
  channel         text,
  transaction_id  bytea,
  first_index     bigint,
  record_count    integer     NOT NULL DEFAULT 0,
  indexes         jsonb,
  more            jsonb       NOT NULL DEFAULT '[]',
  request_id      text        NOT NULL,
  stripped_fields integer     NOT NULL,
  at              timestamptz NOT NULL
);

CREATE INDEX events_by_network ON events (network_id, event_id);

-- Down Migration

DROP TABLE events, networks;
