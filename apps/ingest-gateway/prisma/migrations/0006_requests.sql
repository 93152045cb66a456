-- Up Migration

-- Events by the id of their request, which somebody has from a log or an answer. Ids that we made hold their time, as those of
-- events do, so they are looked for among the events of the minutes after it and need no index: nearly every write has one,
-- and costs nothing here. Only ids that a sender chose are entered.
CREATE INDEX IF NOT EXISTS writes_by_request ON writes (request_id) WHERE substr(request_id, 1, 1) <> '\x00'::bytea;
CREATE INDEX IF NOT EXISTS events_by_request ON events (request_id) WHERE request_id !~ '^req_[0-9a-f]{32}$';

-- Down Migration

DROP INDEX writes_by_request, events_by_request;
