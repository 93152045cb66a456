-- Up Migration

-- Sources of signed webhooks. settings overrides the scheme; secrets is a list of {id, sealed, createdAt, isPublic},
-- each encrypted with a key derived from SERVER_SECRETS: `<id of the server secret>:<text>`. A deleted source keeps
-- its row without secrets, so that its records stay attributable.
CREATE TABLE sources (
  source_id  text           PRIMARY KEY COLLATE "C",
  network_id text           NOT NULL COLLATE "C" REFERENCES networks,
  name       text           NOT NULL,
  scheme     text           NOT NULL,
  settings   jsonb          NOT NULL,
  secrets    jsonb          NOT NULL,
  enabled    boolean        NOT NULL,
  created_at timestamptz(3) NOT NULL,
  changed_at timestamptz(3) NOT NULL,
  deleted_at timestamptz(3)
);

CREATE INDEX sources_by_network ON sources (network_id, source_id) WHERE deleted_at IS NULL;

-- Sources that accept deliveries, with all columns that a delivery depends on and none that changes by use.
CREATE VIEW live_sources AS
  SELECT s.source_id, s.network_id, s.scheme, s.settings, s.secrets, n.channels, n.rate_per_second, n.burst
    FROM sources s JOIN networks n ON n.network_id = s.network_id AND n.deleted_at IS NULL
   WHERE s.deleted_at IS NULL AND s.enabled;

-- Deliveries that left no event, counted by source, minute and outcome: refusals by their code, and replays. position
-- starts with the end of the minute, as event ids start with their time.
CREATE TABLE delivery_counts (
  source_id  text           NOT NULL COLLATE "C",
  position   text           NOT NULL COLLATE "C",
  outcome    text           NOT NULL,
  code       text,
  deliveries bigint         NOT NULL,
  request_id text           NOT NULL,
  last_at    timestamptz(3) NOT NULL,
  PRIMARY KEY (source_id, position)
);

CREATE INDEX delivery_counts_by_position ON delivery_counts (position);

-- Events of deliveries have the id of the source in key_id. It starts differently from that of a key: key_ and 32
-- digits are packed.
CREATE INDEX IF NOT EXISTS events_by_source ON events (key_id, event_id) WHERE starts_with(key_id, 'src_');
CREATE INDEX IF NOT EXISTS writes_by_source ON writes (key_id, event_id) WHERE substr(key_id, 1, 4) = '\x7372635f';

-- Down Migration

DROP INDEX events_by_source, writes_by_source;
DROP TABLE delivery_counts;
DROP VIEW live_sources;
DROP TABLE sources;
