-- Up Migration

-- Events by the id of their request, as known from a log or an answer. Generated ids contain their time, as those of
-- events do, so they are searched among the events of the minutes after it and need no index entry: nearly every
-- write has such an id. Only ids chosen by a sender are indexed.
CREATE INDEX IF NOT EXISTS writes_by_request ON writes (request_id) WHERE substr(request_id, 1, 1) <> '\x00'::bytea;
CREATE INDEX IF NOT EXISTS events_by_request ON events (request_id) WHERE request_id !~ '^req_[0-9a-f]{32}$';

-- Down Migration

DROP INDEX writes_by_request, events_by_request;
