/**
 * The rights of every role in every channel, assuming its password leaked. The surfaces are those of `npm start`: A
 * owns demo.evidence, B owns demo.cases, C maps demo.main and integrates, D has the networks demo and acme, and the
 * operator's role is that of the admin listeners of C and D.
 */
export const CHANNELS = ['demo.evidence', 'demo.cases', 'demo.main', 'acme.main'] as const;
export const ROLES = ['risk', 'gate', 'peer', 'ingest', 'operator', 'stranger'] as const;

const ALL = CHANNELS.join(' ');
const NONE = '';
const own = { risk: 'demo.evidence', gate: 'demo.cases', peer: 'demo.main', stranger: NONE } as const;

/** The channels for which a function accepts a role; any other call gets insufficient_privilege. */
const appends = { ...own, ingest: 'demo.main acme.main', operator: NONE };
const reads = { ...own, ingest: NONE, operator: ALL };
const operates = { risk: NONE, gate: NONE, peer: NONE, ingest: NONE, operator: ALL, stranger: NONE };
const integrates = { risk: NONE, gate: NONE, peer: ALL, ingest: NONE, operator: NONE, stranger: NONE };
/** Functions that return only hashes, or what concerns the role itself. */
const open = { risk: ALL, gate: ALL, peer: ALL, ingest: ALL, operator: ALL, stranger: ALL };
export const EXPECTED: Readonly<Record<string, Readonly<Record<(typeof ROLES)[number], string>>>> = {
  append_many: appends,
  append: appends,
  append_new: appends,
  conflict: appends,
  open_channel: appends,
  receipts: { ...appends, operator: ALL },
  held: { ...appends, operator: ALL },
  record: reads,
  query: reads,
  index_types: reads,
  erase: operates,
  audit_counts: operates,
  audit_logs: operates,
  audit_records: operates,
  audit_record: operates,
  audit_missing: operates,
  audit_ids: operates,
  audit_claims: operates,
  audit_id_at: operates,
  audit_types: operates,
  entries: reads,
  archive_state: operates,
  archive_lock: operates,
  archive_rows: reads,
  archive_records: operates,
  erasures_written: operates,
  erased_rows: operates,
  unwritten_erasures: open,
  audit_archived: operates,
  archived_until: operates,
  integrate_begin: integrates,
  integrate_commit: integrates,
  halt: integrates,
  resume: integrates,
  heads: integrates,
  halts: open,
  declare_loss: integrates,
  epochs: open,
  logs: open,
  make_partitions: { ...open, operator: NONE, stranger: NONE },
  forget_claims: { ...open, operator: NONE, stranger: NONE },
  checkpoint: open,
  published: open,
  log_keys: open,
  state_log_keys: integrates,
  publish: integrates,
  publish_cosigned: integrates,
  publish_signed: integrates,
  unpublished: open,
  tiles: open,
  channels: open,
  channel: open,
  times: open,
  rights: open,
};

const bytes = `decode(repeat('ab', 32), 'hex')`;
/** The parameters of one unit with one record, starting with its claim. */
const oneRecord = `ARRAY[NULL]::bytea[], ARRAY[NULL]::text[], ARRAY[${bytes}], ARRAY[${bytes}], ARRAY[''], ARRAY[1::bigint],
    ARRAY[1], ARRAY[1], ARRAY['new'], ARRAY['t'], ARRAY[NULL]::text[], ARRAY['{}'], ARRAY[NULL]::text[], ARRAY[${bytes}],
    ARRAY[${bytes}]`;
/** The call of each function; `$1` is the channel. */
export const CALLS: Readonly<Record<string, string>> = {
  append_many: `append_many(ARRAY[$1], ARRAY[split_part($1, '.', 1)], ${oneRecord})`,
  append: `append($1, split_part($1, '.', 1), false, ${oneRecord})`,
  append_new: `append_new($1, ${oneRecord})`,
  conflict: `conflict($1, NULL, ARRAY['secret'], ARRAY['t'], ARRAY['o'], ARRAY['{}'], ARRAY['{}'])`,
  open_channel: `open_channel(split_part($1, '.', 1), $1)`,
  receipts: 'receipts($1, ARRAY[0::bigint])',
  held: `held($1, ARRAY['secret'])`,
  record: `record($1, 'secret')`,
  query: `query($1, 't', '', 10)`,
  index_types: 'index_types($1, 10)',
  erase: `erase($1, 'secret', 'because', 1, 'me', 'req')`,
  audit_counts: 'audit_counts($1)',
  audit_logs: 'audit_logs($1)',
  audit_records: 'audit_records($1, 0, 1)',
  audit_record: 'audit_record($1, 0)',
  audit_missing: 'audit_missing($1, 0, 1)',
  audit_ids: 'audit_ids($1, 1)',
  audit_claims: `audit_claims($1, '', 10)`,
  audit_id_at: 'audit_id_at($1, 0)',
  audit_types: 'audit_types($1)',
  archive_state: 'archive_state($1, 1)',
  archive_lock: 'archive_lock($1, 0)',
  archive_rows: 'archive_rows($1, 0, 256, 1000)',
  entries: 'entries($1, 0, 256)',
  archive_records: `archive_records($1, 0, 256, ${bytes}, ARRAY[]::int8[])`,
  erasures_written: `erasures_written($1, ARRAY[0::int8])`,
  erased_rows: 'erased_rows($1, 0, 1)',
  unwritten_erasures: 'unwritten_erasures()',
  audit_archived: 'audit_archived($1, 0, 1)',
  archived_until: 'archived_until($1)',
  integrate_begin: 'integrate_begin($1, 10)',
  resume: 'resume($1)',
  heads: 'heads(ARRAY[$1])',
  halts: 'halts()',
  halt: `halt(split_part($1, '.', 1), $1, 'gone', '[{"epoch":0,"lostFrom":1,"lostUntil":2,"checkpoint":"note"}]', 3)`,
  declare_loss: `declare_loss($1, '{"lost":[]}', 'me', 'req')`,
  integrate_commit: `integrate_commit(ARRAY[$1], ARRAY[1::int8], ARRAY[${bytes}], ARRAY['forged'], ARRAY[]::int4[], ARRAY[]::int2[],
    ARRAY[]::int8[], ARRAY[]::bytea[])`,
  epochs: 'epochs(ARRAY[$1])',
  logs: 'logs()',
  make_partitions: 'make_partitions()',
  forget_claims: 'forget_claims(400, 10)',
  checkpoint: 'checkpoint($1)',
  published: 'published($1)',
  log_keys: 'log_keys(ARRAY[$1])',
  state_log_keys: `state_log_keys(ARRAY[$1], ARRAY['forged'])`,
  publish: `publish($1, 1, 'forged', false)`,
  publish_cosigned: 'publish_cosigned()',
  publish_signed: 'publish_signed()',
  unpublished: 'unpublished(10)',
  tiles: 'tiles($1, ARRAY[0::int2], ARRAY[0::int8])',
  channels: `channels('', 10)`,
  channel: 'channel($1)',
  times: 'times(ARRAY[$1], ARRAY[0::int8])',
  rights: 'rights($1)',
};
