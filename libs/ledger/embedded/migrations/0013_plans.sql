-- Up Migration

-- The integrator asks for each channel anew. A plan made for the values of one leaves out the partitions that it does not need,
-- so it looks cheaper than one for all values, and was made for every channel: nearly half of the call. Plans are kept for the
-- life of a connection: those made while the tables were empty must not read them whole once they are large.
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
