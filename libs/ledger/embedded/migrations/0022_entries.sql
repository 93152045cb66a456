-- Up Migration

-- Entries of a channel as bundled by C2SP tlog-tiles: the preimages of the leaves of its records in a range of indexes,
-- in order, each preceded by its length in 16 bits. `archived`: the number of records at the beginning of the channel
-- whose entries are built from the files of the archive; none of them is in `entries`.
CREATE FUNCTION entries_v1(of_channel text, from_index bigint, until_index bigint)
RETURNS TABLE (archived bigint, entries bytea)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = ledger, pg_temp SET enable_seqscan = off SET jit = off AS $$
  SELECT coalesce((SELECT u.upto FROM archives u WHERE u.channel_id = c.channel_id), 0),
         (SELECT string_agg(substring(int4send(octet_length(l.leaf)) FROM 3) || l.leaf, ''::bytea ORDER BY l.idx)
            -- As leaf_hash has it.
            FROM (SELECT r.idx, convert_to(
                    '{"at":' || iso_millisecond(r.at_ms) || ',"channel":' || c.channel_json || ',"dataHash":"'
                    || encode(coalesce(r.data_hash, content_hash(r.salt, r.data, r.extra)), 'hex') || '","id":'
                    || to_json(r.id)::text || ',"network":' || c.network_json || ',"owner":'
                    || coalesce(to_json(r.owner)::text, 'null') || ',"transactionId":"' || encode(r.transaction_id, 'hex')
                    || '","type":' || to_json(r.type)::text || ',"v":1}', 'UTF8') AS leaf
                    FROM records r
                   WHERE r.channel_id = c.channel_id AND r.idx >= from_index AND r.idx < entries_v1.until_index) l)
    FROM audited_channels c
   WHERE c.channel = of_channel AND permitted(of_channel, 'read')
$$;

-- Down Migration

DROP FUNCTION entries_v1;
