-- Up Migration

-- Identities of people at identity providers. A row without issuer and subject is an invitation: it waits for the first
-- token with this verified address. Removal keeps the row, to distinguish removed from unknown ids.
CREATE TABLE identities (
  identity_id text PRIMARY KEY COLLATE "C",
  org_id      text           NOT NULL COLLATE "C" REFERENCES orgs,
  person_id   text           NOT NULL COLLATE "C" REFERENCES people,
  issuer      text           COLLATE "C",
  subject     text           COLLATE "C",
  email       text           COLLATE "C",
  created_at  timestamptz(3) NOT NULL,
  expires_at  timestamptz(3),
  removed_at  timestamptz(3),
  CHECK ((issuer IS NULL) = (subject IS NULL) AND (issuer IS NULL) = (expires_at IS NOT NULL)),
  CHECK (issuer IS NOT NULL OR email IS NOT NULL)
);
-- An identity is at most one person per organisation.
CREATE UNIQUE INDEX identities_once ON identities (issuer, subject, org_id) WHERE removed_at IS NULL;
CREATE INDEX identities_of_person ON identities (person_id, identity_id);
CREATE INDEX identities_invited ON identities (email) WHERE issuer IS NULL AND removed_at IS NULL;

-- Down Migration

DROP TABLE identities;
