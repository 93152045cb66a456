-- Up Migration

-- Deliveries that were refused, for the operator of their source; nothing of their bodies. refused_id starts with its
-- time, as event ids do. Of those that are not authentic, only the newest of a source are kept. header, skew_seconds
-- and pointer say more about the reason. outcome is that of processing it again.
CREATE TABLE refused_deliveries (
  refused_id   text           PRIMARY KEY COLLATE "C",
  source_id    text           NOT NULL COLLATE "C",
  is_authentic boolean        NOT NULL,
  code         text           NOT NULL,
  reason       text           NOT NULL,
  header       text,
  skew_seconds bigint,
  pointer      text,
  detail       text           NOT NULL,
  delivery_id  text,
  media_type   text,
  body_bytes   bigint,
  request_id   text           NOT NULL,
  event_id     text,
  at           timestamptz(3) NOT NULL,
  processed_at timestamptz(3),
  outcome      text
);

CREATE INDEX refused_deliveries_by_source ON refused_deliveries (source_id, is_authentic, refused_id);

-- Bodies and headers of refused deliveries, encrypted with a key derived from SERVER_SECRETS (secret_id names it). The
-- only content that is stored unstripped, for at most three days, and never shown. bytes is what a row takes.
CREATE TABLE kept_deliveries (
  refused_id   text           PRIMARY KEY COLLATE "C" REFERENCES refused_deliveries ON DELETE CASCADE,
  source_id    text           NOT NULL COLLATE "C",
  is_authentic boolean        NOT NULL,
  secret_id    text           NOT NULL,
  sealed       bytea          NOT NULL,
  bytes        bigint         NOT NULL,
  keep_until   timestamptz(3) NOT NULL
);

-- It does not compress.
ALTER TABLE kept_deliveries ALTER COLUMN sealed SET STORAGE EXTERNAL;

CREATE INDEX kept_deliveries_by_source ON kept_deliveries (source_id, refused_id);
CREATE INDEX kept_deliveries_by_end ON kept_deliveries (keep_until);

-- Refusals are counted by reason as well; skew_seconds is that of the last one.
ALTER TABLE delivery_counts ADD COLUMN reason text, ADD COLUMN skew_seconds bigint;

-- Down Migration

ALTER TABLE delivery_counts DROP COLUMN reason, DROP COLUMN skew_seconds;
DROP TABLE kept_deliveries, refused_deliveries;
