-- Up Migration

-- Lists of cases for operators: by age, by state and age, by subject; and the most recently decided ones.
CREATE INDEX cases_by_age ON cases (environment, created_at, case_id);
CREATE INDEX cases_by_status ON cases (environment, status, created_at, case_id);
CREATE INDEX cases_by_subject ON cases (environment, subject_ref, created_at, case_id);
CREATE INDEX cases_by_decision ON cases (environment, decided_at, case_id) WHERE decided_at IS NOT NULL;

-- Down Migration

DROP INDEX cases_by_age, cases_by_status, cases_by_subject, cases_by_decision;
