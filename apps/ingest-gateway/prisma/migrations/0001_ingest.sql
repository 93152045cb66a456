-- Up Migration

-- Rows that no reader could show are refused throughout, so that one of them hides no other: a time that is none or
-- beyond what RFC 3339 can say, a list that is none, a place that JSON cannot say.

-- A deleted network keeps its row, so that its id is never reused. folded is made of the texts that `q` of the list
-- searches, as in sources: see libs/paging. All rows are read for a word: there are some thousand at most.
CREATE TABLE networks (
  network_id      text PRIMARY KEY COLLATE "C",
  name            text,
  channels        text[]      NOT NULL CHECK (cardinality(channels) > 0),
  rate_per_second integer     CHECK (rate_per_second > 0),
  burst           integer     CHECK (burst > 0),
  created_at      timestamptz NOT NULL DEFAULT now(),
  deleted_at      timestamptz,
  folded          text        NOT NULL DEFAULT '' COLLATE "C",
  CHECK ((rate_per_second IS NULL) = (burst IS NULL)),
  CONSTRAINT networks_channels CHECK (array_ndims(channels) = 1 AND array_position(channels, NULL) IS NULL),
  CONSTRAINT networks_times CHECK (
    least(created_at, deleted_at) >= '0001-01-01 00:00:00+00' AND greatest(created_at, deleted_at) < '10000-01-01 00:00:00+00')
);

-- The grants of a key, as the list of keys shows them: see domain/caller.ts.
ALTER TABLE api_keys ADD CONSTRAINT api_keys_grants CHECK (
  jsonb_typeof(grants) = 'object' AND coalesce(jsonb_typeof(grants -> 'permissions'), 'array') = 'array'
  AND coalesce(jsonb_typeof(grants -> 'allowedAssetTypes'), 'array') = 'array');

-- Keys of existing networks, with all columns that a request depends on and none that changes by use. The hash of a
-- row is the version of the caller. Expiry is checked by the reader, against its own clock.
CREATE VIEW callers AS
  SELECT k.id, k.key_hash, k.family_id, k.owner_id, k.grants, k.revoked_at, k.expires_at, k.overlap_until, n.channels,
         n.rate_per_second, n.burst
    FROM api_keys k JOIN networks n ON n.network_id = k.owner_id AND n.deleted_at IS NULL;

-- Sources of signed webhooks. settings overrides the scheme; secrets is a list of {id, sealed, createdAt, isPublic},
-- each encrypted with a key derived from SERVER_SECRETS: `<id of the server secret>:<text>`. A deleted source keeps
-- its row without secrets, so that its records stay attributable.
CREATE TABLE sources (
  source_id  text           PRIMARY KEY COLLATE "C",
  network_id text           NOT NULL COLLATE "C" REFERENCES networks,
  name       text           NOT NULL,
  scheme     text           NOT NULL CONSTRAINT sources_scheme CHECK (
    scheme IN ('standard-webhooks', 'github', 'stripe', 'shopify', 'slack', 'hmac', 'token')),
  settings   jsonb          NOT NULL,
  secrets    jsonb          NOT NULL,
  enabled    boolean        NOT NULL,
  created_at timestamptz(3) NOT NULL,
  changed_at timestamptz(3) NOT NULL,
  deleted_at timestamptz(3),
  folded     text           NOT NULL DEFAULT '' COLLATE "C",
  CONSTRAINT sources_times CHECK (
    least(created_at, changed_at, deleted_at) >= '0001-01-01 00:00:00+00'
    AND greatest(created_at, changed_at, deleted_at) < '10000-01-01 00:00:00+00'),
  CONSTRAINT sources_settings CHECK (jsonb_typeof(settings) = 'object'),
  CONSTRAINT sources_secrets CHECK (jsonb_typeof(secrets) = 'array'
    AND NOT jsonb_path_exists(secrets, 'lax $[*] ? (@.type() != "object" || !exists (@.id))'))
);
CREATE INDEX sources_by_network ON sources (network_id, source_id) WHERE deleted_at IS NULL;

-- Sources that accept deliveries, with all columns that a delivery depends on and none that changes by use.
CREATE VIEW live_sources AS
  SELECT s.source_id, s.network_id, s.scheme, s.settings, s.secrets, n.channels, n.rate_per_second, n.burst
    FROM sources s JOIN networks n ON n.network_id = s.network_id AND n.deleted_at IS NULL
   WHERE s.deleted_at IS NULL AND s.enabled;

-- Results of requests, without the data of records. event_id starts with its time, so the newest is the highest. key_id
-- is the id of the source for a delivery. The transaction of the first channel has columns of its own (indexes is null
-- where its records follow first_index without a gap); those of further channels are in more. 1000 is the largest
-- MAX_BATCH_RECORDS; a ping and a conflict have no record.
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
  at              timestamptz NOT NULL,
  -- What was written where the ledger has no places: [{id, channel, transactionId}]. Null on the embedded ledger.
  records         jsonb,
  -- The sender's id of a delivery; else empty.
  delivery_id     text        NOT NULL DEFAULT '' COLLATE "C",
  CONSTRAINT events_times CHECK (at >= '0001-01-01 00:00:00+00' AND at < '10000-01-01 00:00:00+00'),
  CONSTRAINT events_state CHECK (kind IN ('write', 'ping') AND status IN ('committed', 'rejected', 'unknown')),
  CONSTRAINT events_lists CHECK (jsonb_typeof(types) = 'array' AND jsonb_typeof(more) = 'array'),
  CONSTRAINT events_names CHECK (jsonb_array_length(types)
    = jsonb_array_length(jsonb_path_query_array(types, 'strict $[*] ? (@.type() == "string")'))),
  CONSTRAINT events_places CHECK (record_count BETWEEN 0 AND 1000 AND first_index BETWEEN 0 AND 9007199254740991
    AND (indexes IS NULL OR (jsonb_typeof(indexes) = 'array' AND jsonb_array_length(indexes) <= 1000
      AND NOT jsonb_path_exists(indexes, 'strict $[*] ? (@.type() != "number")')
      AND NOT jsonb_path_exists(indexes, 'strict $[*] ? (@ < 0 || @ > 9007199254740991 || @ != @.floor())')))),
  CONSTRAINT events_more CHECK (jsonb_array_length(more) <= 1000
    AND jsonb_array_length(more) = jsonb_array_length(jsonb_path_query_array(more,
      'strict $[*] ? (@.channel.type() == "string" && @.count >= 0 && @.count <= 1000
        && (@.first == null || (@.first >= 0 && @.first <= 9007199254740991))
        && (@.indexes == null || @.indexes.type() == "array"))'))),
  CONSTRAINT events_records CHECK (records IS NULL OR (jsonb_typeof(records) = 'array'
    AND jsonb_array_length(records) <= 1000
    AND jsonb_array_length(records) = jsonb_array_length(jsonb_path_query_array(records,
      'strict $[*] ? (@.id.type() == "string" && @.channel.type() == "string"
        && @.transactionId.type() == "string")'))))
);
CREATE INDEX events_by_network ON events (network_id, event_id);
CREATE INDEX events_by_source ON events (key_id, event_id) WHERE starts_with(key_id, 'src_');
-- Generated request ids contain their time, as those of events do, so they are searched among the events of the minutes
-- after it and need no index entry: nearly every write has such an id. Only ids chosen by a sender are indexed.
CREATE INDEX events_by_request ON events (request_id, event_id) WHERE request_id !~ '^req_[0-9a-f]{32}$';
CREATE INDEX events_by_delivery ON events (delivery_id, event_id) WHERE delivery_id <> '';

-- What the list filters by, as hashes: one index for every combination of filters, whose elements also say whose the row
-- is. On Fabric each record names its channel and is found by its id; those of the embedded ledger are in its index.
CREATE FUNCTION event_marks(
  network_id text, key_id text, kind text, status text, channel text, more jsonb, records jsonb)
RETURNS integer[] LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN ARRAY[hashtext('network ' || network_id), hashtext('key ' || key_id), hashtext('kind ' || kind),
         hashtext('status ' || status), hashtext('channel ' || channel)]
       || ARRAY(SELECT hashtext('channel ' || (of ->> 'channel'))
                  FROM jsonb_array_elements(more || coalesce(records, '[]'::jsonb)) of)
       || ARRAY(SELECT hashtext('record ' || (of ->> 'id'))
                  FROM jsonb_array_elements('[]'::jsonb || coalesce(records, '[]'::jsonb)) of);
CREATE INDEX events_by_mark ON events USING gin (
  event_marks(network_id, key_id, kind, status, channel, more, records), types) WITH (gin_pending_list_limit = 4096);

-- Events of requests that were written by a single transaction, which is nearly all of them. Therefore compact:
-- columns ordered without padding, and one index in their order. All others are in events. The other members of an event follow from
-- these: event_id is the 32 digits of its text form and contains the time; channel_name is relative to the network;
-- key_id and request_id are packed; types is a JSON array.
CREATE TABLE writes (
  event_id        uuid    NOT NULL,
  first_index     bigint  NOT NULL,
  record_count    integer NOT NULL,
  stripped_fields integer NOT NULL,
  network_id      text    NOT NULL COLLATE "C",
  channel_name    text    NOT NULL COLLATE "C",
  key_id          bytea   NOT NULL,
  request_id      bytea   NOT NULL,
  types           text    NOT NULL COLLATE "C",
  delivery_id     text    NOT NULL DEFAULT '' COLLATE "C",
  PRIMARY KEY (network_id, event_id),
  -- The view of these rows converts types, key_id and request_id; what cannot be converted fails every query.
  CONSTRAINT writes_places CHECK (record_count BETWEEN 0 AND 1000 AND first_index BETWEEN 0 AND 9007199254740991),
  CONSTRAINT writes_types CHECK (jsonb_typeof(types::jsonb) = 'array'),
  CONSTRAINT writes_ids CHECK (
    CASE WHEN substr(key_id, 1, 1) = '\x00'::bytea THEN true ELSE convert_from(key_id, 'UTF8') IS NOT NULL END AND
    CASE WHEN substr(request_id, 1, 1) = '\x00'::bytea THEN true ELSE convert_from(request_id, 'UTF8') IS NOT NULL END)
);
-- As for events. The id of a source starts differently from that of a key: key_ and 32 digits are packed.
CREATE INDEX writes_by_source ON writes (key_id, event_id) WHERE substr(key_id, 1, 4) = '\x7372635f';
CREATE INDEX writes_by_request ON writes (request_id, event_id) WHERE substr(request_id, 1, 1) <> '\x00'::bytea;
CREATE INDEX writes_by_delivery ON writes (delivery_id, event_id) WHERE delivery_id <> '';

-- As for events. New entries wait in a list that is merged into the index when it is full, so a write pays little more
-- than for their bytes.
CREATE INDEX writes_by_mark ON writes USING gin (
  (ARRAY[hashtext('network ' || network_id), hashtext('channel ' || network_id || '.' || channel_name),
         hashtext('key ' || encode(key_id, 'hex'))]),
  (types::jsonb)) WITH (gin_pending_list_limit = 256);

-- A generated id, a prefix and 32 digits, is packed into a zero byte and 16 bytes; any other id, such as a sender's
-- request id, stays text. No text starts with a zero byte.
CREATE FUNCTION packed_id(id text, prefix text) RETURNS bytea LANGUAGE sql STABLE
RETURN CASE WHEN starts_with(id, prefix) AND length(id) = length(prefix) + 32
              AND ltrim(convert_to(right(id, 32), 'UTF8'), '0123456789abcdef'::bytea) = ''::bytea
            THEN decode('00' || right(id, 32), 'hex') ELSE convert_to(id, 'UTF8') END;

CREATE FUNCTION unpacked_id(packed bytea, prefix text) RETURNS text LANGUAGE sql STABLE
RETURN CASE WHEN starts_with(encode(packed, 'hex'), '00') THEN prefix || encode(substr(packed, 2), 'hex')
            ELSE convert_from(packed, 'UTF8') END;

-- Each write as a row of events; id is for conditions that must use the index.
CREATE VIEW write_events AS
  SELECT w.event_id AS id, 'evt_' || encode(uuid_send(w.event_id), 'hex') AS event_id, w.network_id,
         unpacked_id(w.key_id, 'key_') AS key_id, w.types::jsonb AS types,
         w.network_id || '.' || w.channel_name AS channel, w.first_index, w.record_count,
         unpacked_id(w.request_id, 'req_') AS request_id, w.stripped_fields,
         ARRAY[hashtext('network ' || w.network_id), hashtext('channel ' || w.network_id || '.' || w.channel_name),
               hashtext('key ' || encode(w.key_id, 'hex'))] AS marks, w.key_id AS packed_key,
         to_timestamp(('x' || encode(substr(uuid_send(w.event_id), 1, 6), 'hex'))::bit(48)::bigint / 1000.0) AS at
    FROM writes w;

-- Deliveries that left no event, counted by source, minute and outcome: refusals by their code and reason, and replays.
-- position starts with the end of the minute, as event ids start with their time. skew_seconds is that of the last one.
CREATE TABLE delivery_counts (
  source_id    text           NOT NULL COLLATE "C",
  position     text           NOT NULL COLLATE "C",
  outcome      text           NOT NULL,
  code         text,
  reason       text,
  skew_seconds bigint,
  deliveries   bigint         NOT NULL,
  request_id   text           NOT NULL,
  last_at      timestamptz(3) NOT NULL,
  PRIMARY KEY (source_id, position),
  CONSTRAINT delivery_counts_times CHECK (last_at >= '0001-01-01 00:00:00+00' AND last_at < '10000-01-01 00:00:00+00')
);
CREATE INDEX delivery_counts_by_position ON delivery_counts (position);

-- What became of the deliveries of a source, by hour: a chart reads a row an hour, whatever was delivered. It is counted
-- off the request path; a process that dies loses its last second.
CREATE TABLE source_activity (
  source_id text           NOT NULL COLLATE "C",
  hour      timestamptz(3) NOT NULL,
  accepted  bigint         NOT NULL,
  replayed  bigint         NOT NULL,
  conflicts bigint         NOT NULL,
  refused   bigint         NOT NULL,
  PRIMARY KEY (source_id, hour),
  CONSTRAINT source_activity_times CHECK (hour >= '0001-01-01 00:00:00+00' AND hour < '10000-01-01 00:00:00+00')
);
CREATE INDEX source_activity_by_hour ON source_activity (hour);

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
  outcome      text,
  CONSTRAINT refused_deliveries_times CHECK (
    least(at, processed_at) >= 'epoch' AND greatest(at, processed_at) < '10000-01-01 00:00:00+00')
);
CREATE INDEX refused_deliveries_by_source ON refused_deliveries (source_id, is_authentic, refused_id);
-- The newest example of a reason, and the list of all sources by reason or by the id that the sender gave.
CREATE INDEX refused_deliveries_by_example ON refused_deliveries (source_id, reason, refused_id);
CREATE INDEX refused_deliveries_by_reason ON refused_deliveries (reason, refused_id);
CREATE INDEX refused_deliveries_by_delivery ON refused_deliveries (delivery_id, refused_id) WHERE delivery_id IS NOT NULL;

-- Bodies and headers of refused deliveries, encrypted with a key derived from SERVER_SECRETS (secret_id names it). The
-- only content that is stored unstripped, for at most three days, and never shown. bytes is what a row takes.
CREATE TABLE kept_deliveries (
  refused_id   text           PRIMARY KEY COLLATE "C" REFERENCES refused_deliveries ON DELETE CASCADE,
  source_id    text           NOT NULL COLLATE "C",
  is_authentic boolean        NOT NULL,
  secret_id    text           NOT NULL,
  sealed       bytea          NOT NULL,
  bytes        bigint         NOT NULL,
  keep_until   timestamptz(3) NOT NULL,
  CONSTRAINT kept_deliveries_times CHECK (keep_until >= 'epoch' AND keep_until < '10000-01-01 00:00:00+00')
);
-- It does not compress.
ALTER TABLE kept_deliveries ALTER COLUMN sealed SET STORAGE EXTERNAL;
CREATE INDEX kept_deliveries_by_source ON kept_deliveries (source_id, refused_id);
CREATE INDEX kept_deliveries_by_end ON kept_deliveries (keep_until);

-- Fails the call if one of the guards (`kind id version`, or null) is stale. The error detail lists the stale ones,
-- one per line. Each kind is a branch that must find its single row by an index, hence the explicit collations. It
-- inherits the settings of the functions below.
CREATE FUNCTION confirm_guards(unit_guard text[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  stale text;
BEGIN
  SELECT string_agg(g.guard, E'\n') INTO stale
    FROM (SELECT DISTINCT u.guard FROM unnest(unit_guard) u (guard) WHERE u.guard IS NOT NULL) g
   WHERE split_part(g.guard, ' ', 3) IS DISTINCT FROM
         CASE split_part(g.guard, ' ', 1)
           WHEN 'key' THEN
             (SELECT hash_record_extended(c, 0)::text FROM callers c
               WHERE c.id = split_part(g.guard, ' ', 2) COLLATE "default" AND c.revoked_at IS NULL)
           WHEN 'source' THEN
             (SELECT hash_record_extended(s, 0)::text FROM live_sources s
               WHERE s.source_id = split_part(g.guard, ' ', 2) COLLATE "C")
         END;
  IF stale IS NOT NULL THEN
    RAISE EXCEPTION 'guards of the call are stale' USING ERRCODE = 'SG001', DETAIL = stale;
  END IF;
END $$;

-- ledger.append, with the event of each unit in the same transaction; see there for the parameters up to
-- record_leaf_hash. The others have one element per unit: the event's id, how many transactions its request has, how
-- many fields were stripped, the ids of key (or source) and request, the types as a JSON array, the id of a delivery
-- (else empty), and a guard.
--
-- The guards of the units that a call writes are confirmed in a statement of its own after the head locks are taken. So
-- it sees everything committed before the call was sent, or while it waited. The caller must confirm replays and reuses
-- itself.

-- Units of one channel. ledger.append_new writes them if each is new and the whole of its request; that returns one
-- row.
CREATE FUNCTION append(
  of_channel text, of_network text, carefully boolean,
  unit_claim bytea[], unit_fingerprint text[], unit_transaction bytea[], unit_nonce bytea[], unit_note text[],
  unit_at bigint[], unit_records integer[], record_unit integer[], record_id text[], record_type text[],
  record_owner text[], record_data text[], record_extra text[], record_salt bytea[], record_leaf_hash bytea[],
  unit_event text[], unit_of integer[], unit_stripped integer[], unit_key text[], unit_request text[],
  unit_types text[], unit_delivery text[], unit_guard text[])
RETURNS TABLE (outcome text, first_index bigint, detail json)
LANGUAGE plpgsql SET search_path = ingest, pg_temp SET jit = off
  SET enable_seqscan = off SET plan_cache_mode = force_generic_plan AS $$
#variable_conflict use_column
DECLARE
  units CONSTANT integer[] := ARRAY[cardinality(unit_records)];
  base  bigint;
BEGIN
  IF NOT carefully AND 1 = ALL (unit_of) THEN
    base := ledger.append_new(of_channel,
      unit_claim, unit_fingerprint, unit_transaction, unit_nonce, unit_note, unit_at, unit_records, record_unit,
      record_id, record_type, record_owner, record_data, record_extra, record_salt, record_leaf_hash);
  END IF;
  IF base IS NOT NULL THEN
    PERFORM confirm_guards(unit_guard);
    INSERT INTO writes (event_id, first_index, record_count, stripped_fields, network_id, channel_name, key_id,
                        request_id, types, delivery_id)
      SELECT substr(u.event, 5)::uuid, base + u.behind - u.records, u.records, u.stripped, of_network,
             substr(of_channel, length(of_network) + 2), packed_id(u.key, 'key_'), packed_id(u.request, 'req_'), u.types,
             u.delivery
        FROM (SELECT n.*, sum(n.records) OVER (ORDER BY n.ordinal ROWS UNBOUNDED PRECEDING) AS behind
                FROM unnest(unit_records, unit_event, unit_stripped, unit_key, unit_request, unit_types, unit_delivery)
                     WITH ORDINALITY n (records, event, stripped, key, request, types, delivery, ordinal)) u;
    RETURN QUERY SELECT 'all written'::text, base, NULL::json;
    RETURN;
  END IF;
  RETURN QUERY
    SELECT m.outcome, m.first_index, m.detail
      FROM append_many(array_fill(of_channel, units), array_fill(of_network, units),
             unit_claim, unit_fingerprint, unit_transaction, unit_nonce, unit_note, unit_at, unit_records, record_unit,
             record_id, record_type, record_owner, record_data, record_extra, record_salt, record_leaf_hash,
             unit_event, unit_of, unit_stripped, unit_key, unit_request, unit_types, unit_delivery, unit_guard) m;
END $$;

-- Units of several channels, or with duplicates. Out: one row per unit, in order. Until all transactions of a request
-- are committed, its event has status unknown.
CREATE FUNCTION append_many(
  unit_channel text[], unit_network text[],
  unit_claim bytea[], unit_fingerprint text[], unit_transaction bytea[], unit_nonce bytea[], unit_note text[],
  unit_at bigint[], unit_records integer[], record_unit integer[], record_id text[], record_type text[],
  record_owner text[], record_data text[], record_extra text[], record_salt bytea[], record_leaf_hash bytea[],
  unit_event text[], unit_of integer[], unit_stripped integer[], unit_key text[], unit_request text[],
  unit_types text[], unit_delivery text[], unit_guard text[])
RETURNS TABLE (outcome text, first_index bigint, detail json)
LANGUAGE plpgsql SET search_path = ingest, pg_temp SET jit = off
  SET enable_seqscan = off SET plan_cache_mode = force_generic_plan AS $$
#variable_conflict use_column
DECLARE
  outcomes text[];
  firsts   bigint[];
  details  json[];
BEGIN
  SELECT array_agg(a.outcome ORDER BY a.unit), array_agg(a.first_index ORDER BY a.unit),
         array_agg(a.detail ORDER BY a.unit)
    INTO outcomes, firsts, details
    FROM ledger.append_many(unit_channel, unit_network,
           unit_claim, unit_fingerprint, unit_transaction, unit_nonce, unit_note, unit_at, unit_records, record_unit,
           record_id, record_type, record_owner, record_data, record_extra, record_salt, record_leaf_hash) a;
  -- As append does: what a group has besides its duplicates must cost no more than without them.
  INSERT INTO writes (event_id, first_index, record_count, stripped_fields, network_id, channel_name, key_id,
                      request_id, types, delivery_id)
    SELECT substr(u.event, 5)::uuid, u.first_index, u.records, u.stripped, u.network,
           substr(u.channel, length(u.network) + 2), packed_id(u.key, 'key_'), packed_id(u.request, 'req_'), u.types,
           u.delivery
      FROM unnest(unit_network, unit_channel, unit_records, outcomes, firsts, details, unit_event, unit_of,
                  unit_stripped, unit_key, unit_request, unit_types, unit_delivery)
           u (network, channel, records, outcome, first_index, detail, event, transactions, stripped, key, request,
              types, delivery)
     WHERE u.outcome = 'written' AND u.transactions = 1 AND u.detail IS NULL;
  INSERT INTO events (event_id, network_id, key_id, kind, status, types, channel, transaction_id, first_index,
                      record_count, indexes, request_id, stripped_fields, at, delivery_id)
    SELECT u.event, u.network, u.key, 'write',
           CASE WHEN u.outcome = 'conflict' THEN 'rejected'
                WHEN u.transactions <> 1 THEN 'unknown' ELSE 'committed' END,
           u.types::jsonb, CASE WHEN u.outcome <> 'conflict' THEN u.channel END, u.transaction_id, u.first_index,
           CASE WHEN u.outcome = 'conflict' THEN 0 ELSE u.records END,
           CASE WHEN u.detail IS NOT NULL THEN jsonb_path_query_array(u.detail::jsonb, '$.records[*].index') END,
           u.request, u.stripped, to_timestamp(u.at_ms / 1000.0), u.delivery
      FROM unnest(unit_network, unit_channel, unit_transaction, unit_at, unit_records, outcomes, firsts, details,
                  unit_event, unit_of, unit_stripped, unit_key, unit_request, unit_types, unit_delivery)
           u (network, channel, transaction_id, at_ms, records, outcome, first_index, detail,
              event, transactions, stripped, key, request, types, delivery)
     WHERE u.outcome IN ('written', 'existing', 'conflict')
       AND NOT (u.outcome = 'written' AND u.transactions = 1 AND u.detail IS NULL)
       -- A call that is sent again finds the event of its first time.
       AND NOT EXISTS (SELECT FROM writes w
                        WHERE w.network_id = u.network AND w.event_id = substr(u.event, 5)::uuid OFFSET 0)
     ORDER BY 1
  ON CONFLICT (event_id) DO UPDATE
     SET more = events.more || jsonb_build_object('channel', EXCLUDED.channel,
           'transactionId', encode(EXCLUDED.transaction_id, 'hex'), 'first', EXCLUDED.first_index,
           'count', EXCLUDED.record_count, 'indexes', EXCLUDED.indexes),
         status = CASE WHEN jsonb_array_length(events.more) + 2 >=
                            (SELECT max(o.transactions) FROM unnest(unit_event, unit_of) o (event, transactions)
                              WHERE o.event = events.event_id) THEN 'committed'
                       ELSE events.status END
   WHERE EXCLUDED.channel IS NOT NULL AND EXCLUDED.channel IS DISTINCT FROM events.channel
     AND NOT events.more @> jsonb_build_array(jsonb_build_object('channel', EXCLUDED.channel));
  PERFORM confirm_guards(array_agg(g.guard))
     FROM unnest(outcomes, unit_guard) g (outcome, guard) WHERE g.outcome NOT IN ('replayed', 'reused');
  RETURN QUERY
    SELECT o.outcome, o.first_index, o.detail
      FROM unnest(outcomes, firsts, details) WITH ORDINALITY o (outcome, first_index, detail, ordinal)
     ORDER BY o.ordinal;
END $$;
