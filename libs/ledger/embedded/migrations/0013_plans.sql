-- Up Migration

-- The integrator calls the function for each channel. A custom plan excludes partitions that it does not need, so it
-- looks cheaper than the generic one, and was made for every channel: nearly half of the call. Plans are cached for the
-- life of a connection: those made while the tables were empty must not use sequential scans once they are large.
DO $$
DECLARE
  begin_function regprocedure;
BEGIN
  FOR begin_function IN
    SELECT oid FROM pg_proc WHERE pronamespace = 'ledger'::regnamespace AND proname ~ '^integrate_begin_v[0-9]+$'
  LOOP
    EXECUTE format('ALTER FUNCTION %s SET plan_cache_mode = force_generic_plan SET enable_seqscan = off', begin_function);
  END LOOP;
END $$;

-- Down Migration

DO $$
DECLARE
  begin_function regprocedure;
BEGIN
  FOR begin_function IN
    SELECT oid FROM pg_proc WHERE pronamespace = 'ledger'::regnamespace AND proname ~ '^integrate_begin_v[0-9]+$'
  LOOP
    EXECUTE format('ALTER FUNCTION %s RESET plan_cache_mode RESET enable_seqscan', begin_function);
  END LOOP;
END $$;
