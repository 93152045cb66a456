-- Up Migration

-- Identities with valid access tokens that belong to nobody, so that an operator can link them. Processes write them in
-- the background and remove all but the newest.
CREATE TABLE unlinked_identities (
  issuer         text           NOT NULL COLLATE "C",
  subject        text           NOT NULL COLLATE "C",
  -- As the provider says; for display only.
  email          text           COLLATE "C",
  email_verified boolean        NOT NULL,
  last_seen_at   timestamptz(3) NOT NULL,
  PRIMARY KEY (issuer, subject)
);

-- Down Migration

DROP TABLE unlinked_identities;
