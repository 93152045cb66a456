-- Up Migration

-- append_v1: many units, one call, one fsync. A unit is written completely or not at all, and a rejected unit does not
-- affect the others. The caller passes no claim and no (channel, id) twice in one call.
--
-- In: one element per unit in unit_*, one element per record in record_*; the records of a unit are adjacent, in the
-- order of the units. unit_fingerprint holds the fingerprints of the same request, separated by spaces; the first is
-- stored. Out: one row per unit, in order.
--   written   first_index if all records are new and contiguous, else detail
--   existing  every record existed with this content; detail
--   replayed  the claim exists with this fingerprint; detail is what it wrote
--   reused    the claim exists with another fingerprint
--   conflict  detail {"id"}: that id holds other content, or erased content
-- detail: {"transactionId", "note", "records": [{"id", "index", "transactionId", "leafHash"}]}
--
-- One statement per step, because under READ COMMITTED each takes a snapshot younger than the lock it waited for; a
-- single statement with several CTEs would use the snapshot it began with. Plans are cached for the life of a
-- connection, and those made while the tables were empty must not use sequential scans once they are large: hence the
-- planner settings.
CREATE FUNCTION append_v1(
  unit_channel text[], unit_network text[], unit_claim bytea[], unit_fingerprint text[], unit_transaction bytea[],
  unit_nonce bytea[], unit_note text[], unit_at bigint[], unit_records integer[],
  record_unit integer[], record_id text[], record_type text[], record_owner text[], record_data text[],
  record_extra text[], record_salt bytea[], record_data_hash bytea[], record_leaf_hash bytea[])
RETURNS TABLE (unit integer, outcome text, first_index bigint, detail json)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = ledger, pg_temp
  SET enable_seqscan = off SET enable_mergejoin = off SET plan_cache_mode = force_generic_plan AS $$
#variable_conflict use_column
DECLARE
  unit_count   CONSTANT integer := cardinality(unit_channel);
  unit_head    integer[];                 -- the channel_id of each unit
  head_ids     integer[];
  head_sizes   bigint[];                  -- where each channel's next record goes
  outcomes     text[]    := array_fill('written'::text, ARRAY[unit_count]);
  writes       boolean[] := array_fill(true, ARRAY[unit_count]);
  details      json[]    := array_fill(NULL::json, ARRAY[unit_count]);
  shifts       bigint[]  := array_fill(NULL::bigint, ARRAY[unit_count]);   -- index of a record = its ordinal + shift
  firsts       bigint[]  := array_fill(NULL::bigint, ARRAY[unit_count]);
  known        bigint[];                  -- per record: the index it has already; null while no record is known
  exact        bigint[];                  -- per record: the index it gets, for units that mix known and new
  looked_up    boolean   := false;        -- the ids that are taken are in known
  start        integer;                   -- ordinal of the unit's first record
  place        integer;
  fresh        integer;
  made         bigint;
  wanted       bigint;
  had          record;
BEGIN
  -- 1. The heads, in one order for everybody, so that two calls never wait for each other in a circle.
  PERFORM 1 FROM channels WHERE channel = ANY (unit_channel) ORDER BY channel FOR UPDATE;
  SELECT array_agg(c.channel_id ORDER BY u.ordinal) INTO unit_head
    FROM unnest(unit_channel) WITH ORDINALITY u (channel, ordinal) JOIN channels c ON c.channel = u.channel;
  IF cardinality(unit_head) IS DISTINCT FROM unit_count THEN
    INSERT INTO channels (channel, network)
      SELECT DISTINCT u.channel, u.network FROM unnest(unit_channel, unit_network) u (channel, network) ORDER BY 1
      ON CONFLICT DO NOTHING;
    PERFORM 1 FROM channels WHERE channel = ANY (unit_channel) ORDER BY channel FOR UPDATE;
    SELECT array_agg(c.channel_id ORDER BY u.ordinal) INTO unit_head
      FROM unnest(unit_channel) WITH ORDINALITY u (channel, ordinal) JOIN channels c ON c.channel = u.channel;
  END IF;
  head_ids := ARRAY(SELECT DISTINCT h FROM unnest(unit_head) h);

  -- 2. Claims that are taken.
  FOR had IN
    SELECT u.ordinal::integer AS unit, c.claim, c.fingerprint
      FROM unnest(unit_claim) WITH ORDINALITY u (claim, ordinal) JOIN claims c ON c.claim = u.claim
  LOOP
    writes[had.unit] := false;
    IF had.fingerprint = ANY (string_to_array(unit_fingerprint[had.unit], ' ')) THEN
      outcomes[had.unit] := 'replayed';
      details[had.unit] := claim_detail(had.claim);
    ELSE
      outcomes[had.unit] := 'reused';
    END IF;
  END LOOP;

  -- 3. The ids. That none of them is taken is what nearly always holds, and entering them shows it for the price of one
  --    look at the index instead of two. Where one is taken, what was entered is undone, and all are looked up first.
  LOOP
    SELECT array_agg(size ORDER BY ordinal) INTO head_sizes
      FROM unnest(head_ids) WITH ORDINALITY h (channel_id, ordinal) JOIN channels USING (channel_id);

    -- The indexes of what is new: contiguous for a unit, contiguous over the units.
    start := 1;
    FOR u IN 1 .. unit_count LOOP
      IF writes[u] THEN
        place := array_position(head_ids, unit_head[u]);
        fresh := unit_records[u];
        IF known IS NULL OR num_nonnulls(VARIADIC known[start : start + unit_records[u] - 1]) = 0 THEN
          firsts[u] := head_sizes[place];
          shifts[u] := head_sizes[place] - start;
        ELSE
          fresh := 0;
          firsts[u] := NULL;
          shifts[u] := NULL;
          FOR r IN start .. start + unit_records[u] - 1 LOOP
            IF known[r] IS NULL THEN
              exact[r] := head_sizes[place] + fresh;
              fresh := fresh + 1;
            END IF;
          END LOOP;
          IF fresh = 0 THEN
            outcomes[u] := 'existing';
          END IF;
        END IF;
        head_sizes[place] := head_sizes[place] + fresh;
      ELSE
        firsts[u] := NULL;
      END IF;
      start := start + unit_records[u];
    END LOOP;

    BEGIN
      INSERT INTO record_ids (channel_id, id, idx)
        SELECT unit_head[record_unit[n]], record_id[n], coalesce(shifts[record_unit[n]] + n, exact[n])
          FROM generate_series(1, cardinality(record_id)) n
         WHERE writes[record_unit[n]] AND known[n] IS NULL;
      EXIT;
    EXCEPTION WHEN unique_violation THEN
      IF looked_up THEN
        RAISE;
      END IF;
    END;

    -- The same content is the first receipt, other content refuses the unit.
    looked_up := true;
    FOR had IN
      SELECT r.unit, r.ordinal, i.channel_id, i.idx
        FROM unnest(record_unit, record_id) WITH ORDINALITY r (unit, id, ordinal)
        JOIN record_ids i ON i.channel_id = unit_head[r.unit] AND i.id = r.id
       ORDER BY r.ordinal
    LOOP
      CONTINUE WHEN NOT writes[had.unit];
      PERFORM 1 FROM records o
        WHERE o.channel_id = had.channel_id AND o.idx = had.idx
          AND o.type = record_type[had.ordinal] AND o.owner IS NOT DISTINCT FROM record_owner[had.ordinal]
          AND o.data = record_data[had.ordinal] AND o.extra IS NOT DISTINCT FROM record_extra[had.ordinal];
      IF FOUND THEN
        IF known IS NULL THEN
          known := array_fill(NULL::bigint, ARRAY[cardinality(record_id)]);
          exact := known;
        END IF;
        known[had.ordinal] := had.idx;
      ELSE
        writes[had.unit] := false;
        outcomes[had.unit] := 'conflict';
        details[had.unit] := json_build_object('id', record_id[had.ordinal]);
      END IF;
    END LOOP;
  END LOOP;

  -- 4. The claims. One that another call has made on another channel meanwhile: nothing is written, the caller sends
  --    the same call again and finds it.
  INSERT INTO claims (claim, fingerprint, transaction_id, nonce, channel_id, first_index, record_count, indexes, note)
    SELECT u.claim, split_part(u.fingerprint, ' ', 1), u.transaction_id, u.nonce, unit_head[u.ordinal],
           firsts[u.ordinal], unit_records[u.ordinal],
           CASE WHEN firsts[u.ordinal] IS NULL THEN
             (SELECT array_agg(coalesce(known[r.ordinal], exact[r.ordinal]) ORDER BY r.ordinal)
                FROM unnest(record_unit) WITH ORDINALITY r (unit, ordinal) WHERE r.unit = u.ordinal) END,
           u.note
      FROM unnest(unit_claim, unit_fingerprint, unit_transaction, unit_nonce, unit_note)
           WITH ORDINALITY u (claim, fingerprint, transaction_id, nonce, note, ordinal)
     WHERE u.claim IS NOT NULL AND writes[u.ordinal]
     ORDER BY u.claim
    ON CONFLICT DO NOTHING;
  GET DIAGNOSTICS made = ROW_COUNT;
  SELECT count(*) INTO wanted
    FROM unnest(unit_claim, writes) u (claim, writes) WHERE u.claim IS NOT NULL AND u.writes;
  IF made <> wanted THEN
    RAISE EXCEPTION 'a claim was made by another call meanwhile' USING ERRCODE = 'serialization_failure';
  END IF;

  -- 5. The records, the heads.
  FOR h IN 1 .. cardinality(head_ids) LOOP
    IF head_sizes[h] >> 20 > 0 THEN
      PERFORM ensure_next_partition(head_sizes[h]);
    END IF;
  END LOOP;
  INSERT INTO records (channel_id, idx, id, type, owner, data, extra, salt, data_hash, leaf_hash, transaction_id, at_ms)
    SELECT unit_head[record_unit[n]], coalesce(shifts[record_unit[n]] + n, exact[n]), record_id[n], record_type[n],
           record_owner[n], record_data[n], record_extra[n], record_salt[n], record_data_hash[n], record_leaf_hash[n],
           unit_transaction[record_unit[n]], unit_at[record_unit[n]]
      FROM generate_series(1, cardinality(record_id)) n
     WHERE writes[record_unit[n]] AND known[n] IS NULL;
  UPDATE channels c SET size = h.size
    FROM unnest(head_ids, head_sizes) h (channel_id, size) WHERE c.channel_id = h.channel_id AND c.size <> h.size;

  -- 6. What became of each unit.
  IF known IS NOT NULL THEN
    FOR u IN 1 .. unit_count LOOP
      IF writes[u] AND firsts[u] IS NULL THEN
        details[u] := (
          SELECT receipts_detail(unit_transaction[u], unit_note[u], unit_head[u],
                   array_agg(coalesce(known[r.ordinal], exact[r.ordinal]) ORDER BY r.ordinal))
            FROM unnest(record_unit) WITH ORDINALITY r (unit, ordinal) WHERE r.unit = u);
      END IF;
    END LOOP;
  END IF;
  RETURN QUERY
    SELECT o.ordinal::integer, o.outcome, firsts[o.ordinal], details[o.ordinal]
      FROM unnest(outcomes) WITH ORDINALITY o (outcome, ordinal) ORDER BY o.ordinal;
END $$;

-- The first of these ids that holds other content; null if there is none, or if the claim is taken: then append_v1 has
-- the result. It guarantees nothing about the next moment.
CREATE FUNCTION conflict_v1(of_channel text, of_claim bytea, ids text[], types text[], owners text[], datas text[], extras text[]) RETURNS text
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = ledger, pg_temp AS $$
  SELECT r.id
    FROM channels c
    JOIN unnest(ids, types, owners, datas, extras) WITH ORDINALITY r (id, type, owner, data, extra, ordinal) ON true
    JOIN record_ids i ON i.channel_id = c.channel_id AND i.id = r.id
    JOIN records o ON o.channel_id = c.channel_id AND o.idx = i.idx
   WHERE c.channel = of_channel
     AND NOT EXISTS (SELECT 1 FROM claims k WHERE k.claim = of_claim)
     AND (o.type <> r.type OR o.owner IS DISTINCT FROM r.owner OR o.data IS DISTINCT FROM r.data
          OR o.extra IS DISTINCT FROM r.extra)
   ORDER BY r.ordinal LIMIT 1
$$;

CREATE FUNCTION ensure_next_partition(size bigint) RETURNS void
LANGUAGE plpgsql SET search_path = ledger, pg_temp AS $$
BEGIN
  IF to_regclass('ledger.records_' || (size >> 20)) IS NULL THEN
    PERFORM ensure_partitions_v1(size);
  END IF;
END $$;

-- The receipts of the records at these indexes, in this order.
CREATE FUNCTION receipts_detail(of_transaction bytea, of_note text, of_channel integer, at_indexes bigint[]) RETURNS json
LANGUAGE sql STABLE SET search_path = ledger, pg_temp AS $$
  SELECT json_build_object('transactionId', encode(of_transaction, 'hex'), 'note', of_note, 'records', (
    SELECT json_agg(json_build_object('id', r.id, 'index', r.idx, 'transactionId', encode(r.transaction_id, 'hex'),
                                      'leafHash', encode(r.leaf_hash, 'hex')) ORDER BY i.ordinal)
      FROM unnest(at_indexes) WITH ORDINALITY i (idx, ordinal)
           -- Held apart, so that a plan made while the table was empty still looks up record by record.
           CROSS JOIN LATERAL (SELECT o.id, o.idx, o.transaction_id, o.leaf_hash FROM records o
                                WHERE o.channel_id = of_channel AND o.idx = i.idx OFFSET 0) r))
$$;

CREATE FUNCTION claim_detail(of_claim bytea) RETURNS json
LANGUAGE sql STABLE SET search_path = ledger, pg_temp AS $$
  SELECT receipts_detail(c.transaction_id, c.note, c.channel_id, coalesce(c.indexes,
           ARRAY(SELECT generate_series(c.first_index, c.first_index + c.record_count - 1))))
    FROM claims c WHERE c.claim = of_claim
$$;

-- Down Migration

DROP FUNCTION append_v1, conflict_v1, ensure_next_partition, receipts_detail, claim_detail;
