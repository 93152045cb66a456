-- Up Migration

-- Whose webhooks are taken, as they sign them. settings is what a source says beyond its scheme; secrets is a list of
-- {id, sealed, createdAt, isPublic}, each sealed with a key that is derived from SERVER_SECRETS: `<id of the secret>:<text>`. A source
-- that was deleted keeps its row without them, so that its records can be told apart for ever.
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

-- Those that take deliveries, with all that a delivery depends on and nothing that moves by use.
CREATE VIEW live_sources AS
  SELECT s.source_id, s.network_id, s.scheme, s.settings, s.secrets, n.channels, n.rate_per_second, n.burst
    FROM sources s JOIN networks n ON n.network_id = s.network_id AND n.deleted_at IS NULL
   WHERE s.deleted_at IS NULL AND s.enabled;

-- Deliveries that left no event, counted for each source, minute and outcome: refused ones by their code, and replays. position
-- begins with the end of the minute, as event ids begin with their time.
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

-- Events of deliveries have the id of the source in the place of a key's, which begins otherwise: key_ and 32 digits are packed.
CREATE INDEX IF NOT EXISTS events_by_source ON events (key_id, event_id) WHERE starts_with(key_id, 'src_');
CREATE INDEX IF NOT EXISTS writes_by_source ON writes (key_id, event_id) WHERE substr(key_id, 1, 4) = '\x7372635f';

-- Down Migration

DROP INDEX events_by_source, writes_by_source;
DROP TABLE delivery_counts;
DROP VIEW live_sources;
DROP TABLE sources;
