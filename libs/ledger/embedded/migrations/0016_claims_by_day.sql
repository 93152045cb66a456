-- Up Migration

-- The summaries of a BRIN index never shrink: once new claims reuse the space of removed ones, their block still counts
-- as one with old claims, and after the first period of CLAIM_RETENTION_DAYS every removal would read the whole table.
-- A day instead of a timestamp, as in claims: equal keys share their place, some 7 bytes per claim.
DROP INDEX compact_claims_by_day;
CREATE INDEX compact_claims_by_day ON compact_claims (made_on);

DO $$
DECLARE
  before text := (SELECT pg_get_functiondef(p.oid) FROM pg_proc p
                   WHERE p.pronamespace = 'ledger'::regnamespace AND p.proname = 'forget_claims_v1');
BEGIN
  IF strpos(before, 'LIMIT at_most - removed') = 0 THEN
    RAISE EXCEPTION 'forget_claims_v1 is not what it is expected to be';
  END IF;
  EXECUTE replace(before, 'LIMIT at_most - removed', 'ORDER BY k.made_on LIMIT at_most - removed');
END $$;

-- Down Migration

DROP INDEX compact_claims_by_day;
CREATE INDEX compact_claims_by_day ON compact_claims USING brin (made_on) WITH (autosummarize = on);

DO $$
BEGIN
  EXECUTE (SELECT replace(pg_get_functiondef(p.oid), 'ORDER BY k.made_on LIMIT at_most - removed', 'LIMIT at_most - removed')
             FROM pg_proc p WHERE p.pronamespace = 'ledger'::regnamespace AND p.proname = 'forget_claims_v1');
END $$;
