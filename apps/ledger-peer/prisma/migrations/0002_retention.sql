-- Up Migration

-- What retention removes, in the order in which it does; each kind is kept for another time.
CREATE INDEX jobs_done ON jobs (done_at) WHERE claim IS NULL AND done_at IS NOT NULL;
CREATE INDEX jobs_done_claimed ON jobs (done_at) WHERE claim IS NOT NULL AND done_at IS NOT NULL;
CREATE INDEX jobs_unanswered ON jobs (created_at) WHERE NOT promised AND answer_status IS NULL;

-- Down Migration

DROP INDEX jobs_done, jobs_done_claimed, jobs_unanswered;
