/**
 * Whoever holds the password of a surface's role tries everything. The surfaces are those of `npm start`: A owns
 * demo.evidence, B owns demo.cases, C maps demo.main and integrates, D has the networks demo and acme, and the operator's
 * role is that of the admin listeners of C and D.
 */
export const CHANNELS = ['demo.evidence', 'demo.cases', 'demo.main', 'acme.main'] as const;
export const ROLES = ['risk', 'gate', 'peer', 'ingest', 'operator', 'stranger'] as const;
export type Role = (typeof ROLES)[number];

const ALL = CHANNELS.join(' ');
const NONE = '';
const own = { risk: 'demo.evidence', gate: 'demo.cases', peer: 'demo.main', stranger: NONE } as const;

/** Of which channels a function answers to a role; to every other call it says insufficient_privilege. */
const appends = { ...own, ingest: 'demo.main acme.main', operator: NONE };
const reads = { ...own, ingest: NONE, operator: ALL };
const operates = { risk: NONE, gate: NONE, peer: NONE, ingest: NONE, operator: ALL, stranger: NONE };
const integrates = { risk: NONE, gate: NONE, peer: ALL, ingest: NONE, operator: NONE, stranger: NONE };
/** Hashes alone, or nothing but what the role itself may do. */
const open = { risk: ALL, gate: ALL, peer: ALL, ingest: ALL, operator: ALL, stranger: ALL };
export const EXPECTED: Readonly<Record<string, Readonly<Record<Role, string>>>> = {
  append_v1: appends,
  append_v2: appends,
  append_new_v1: appends,
  conflict_v1: appends,
  open_channel_v1: appends,
  receipts_v1: { ...appends, operator: ALL },
  held_v1: { ...appends, operator: ALL },
  held_v2: { ...appends, operator: ALL },
  record_v1: reads,
  query_v1: reads,
  index_types_v1: reads,
  erase_v1: operates,
  erase_v2: operates,
  audit_counts_v1: operates,
  audit_logs_v1: operates,
  audit_records_v1: operates,
  audit_record_v1: operates,
  audit_missing_v1: operates,
  audit_ids_v1: operates,
  audit_claims_v1: operates,
  audit_id_at_v1: operates,
  audit_types_v1: operates,
  record_v2: reads,
  entries_v1: reads,
  query_v2: reads,
  archive_state_v1: operates,
  archive_lock_v1: operates,
  archive_rows_v1: reads,
  archive_records_v1: operates,
  erasures_written_v1: operates,
  erased_rows_v1: operates,
  unwritten_erasures_v1: open,
  audit_archived_v1: operates,
  audit_archived_v2: operates,
  archived_until_v1: operates,
  integrate_begin_v1: integrates,
  integrate_commit_v1: integrates,
  halt_v1: integrates,
  resume_v1: integrates,
  heads_v1: integrates,
  halts_v1: open,
  halt_v2: integrates,
  resume_v2: integrates,
  heads_v2: integrates,
  declare_loss_v1: integrates,
  integrate_begin_v2: integrates,
  integrate_commit_v3: integrates,
  halts_v2: open,
  epochs_v1: open,
  logs_v1: open,
  integrate_commit_v2: integrates,
  make_partitions_v1: { ...open, operator: NONE, stranger: NONE },
  forget_claims_v1: { ...open, operator: NONE, stranger: NONE },
  checkpoint_v1: open,
  tiles_v1: open,
  channels_v1: open,
  rights_v1: open,
};

const bytes = `decode(repeat('ab', 32), 'hex')`;
/** The parameters of one unit of one record, from its claim on. */
const oneRecord = `ARRAY[NULL]::bytea[], ARRAY[NULL]::text[], ARRAY[${bytes}], ARRAY[${bytes}], ARRAY[''], ARRAY[1::bigint],
    ARRAY[1], ARRAY[1], ARRAY['new'], ARRAY['t'], ARRAY[NULL]::text[], ARRAY['{}'], ARRAY[NULL]::text[], ARRAY[${bytes}],
    ARRAY[${bytes}], ARRAY[${bytes}]`;
/** How each is called; `$1` is the channel. */
export const CALLS: Readonly<Record<string, string>> = {
  append_v1: `append_v1(ARRAY[$1], ARRAY[split_part($1, '.', 1)], ${oneRecord})`,
  append_v2: `append_v2($1, split_part($1, '.', 1), false, ${oneRecord})`,
  append_new_v1: `append_new_v1($1, ${oneRecord})`,
  conflict_v1: `conflict_v1($1, NULL, ARRAY['secret'], ARRAY['t'], ARRAY['o'], ARRAY['{}'], ARRAY['{}'])`,
  open_channel_v1: `open_channel_v1(split_part($1, '.', 1), $1)`,
  receipts_v1: 'receipts_v1($1, ARRAY[0::bigint])',
  held_v1: `held_v1($1, ARRAY['secret'])`,
  held_v2: `held_v2($1, ARRAY['secret'])`,
  record_v1: `record_v1($1, 'secret')`,
  query_v1: `query_v1($1, 't', '', 10)`,
  index_types_v1: 'index_types_v1($1, 10)',
  erase_v1: `erase_v1($1, 'secret', 'because', 1)`,
  erase_v2: `erase_v2($1, 'secret', 'because', 1, 'me', 'req')`,
  audit_counts_v1: 'audit_counts_v1($1)',
  audit_logs_v1: 'audit_logs_v1($1)',
  audit_records_v1: 'audit_records_v1($1, 0, 1)',
  audit_record_v1: 'audit_record_v1($1, 0)',
  audit_missing_v1: 'audit_missing_v1($1, 0, 1)',
  audit_ids_v1: 'audit_ids_v1($1, 1)',
  audit_claims_v1: `audit_claims_v1($1, '', 10)`,
  audit_id_at_v1: 'audit_id_at_v1($1, 0)',
  audit_types_v1: 'audit_types_v1($1)',
  record_v2: `record_v2($1, 'secret')`,
  query_v2: `query_v2($1, 't', '', 10)`,
  archive_state_v1: 'archive_state_v1($1, 1)',
  archive_lock_v1: 'archive_lock_v1($1, 0)',
  archive_rows_v1: 'archive_rows_v1($1, 0, 256, 1000)',
  entries_v1: 'entries_v1($1, 0, 256)',
  archive_records_v1: `archive_records_v1($1, 0, 256, ${bytes}, ARRAY[]::int8[])`,
  erasures_written_v1: `erasures_written_v1($1, ARRAY[0::int8])`,
  erased_rows_v1: 'erased_rows_v1($1, 0, 1)',
  unwritten_erasures_v1: 'unwritten_erasures_v1()',
  audit_archived_v1: 'audit_archived_v1($1, 0, 1)',
  audit_archived_v2: 'audit_archived_v2($1, 0, 1)',
  archived_until_v1: 'archived_until_v1($1)',
  integrate_begin_v1: 'integrate_begin_v1($1, 10)',
  integrate_commit_v1: `integrate_commit_v1($1, ARRAY[]::int2[], ARRAY[]::int8[], ARRAY[]::bytea[], 1, ${bytes}, 'forged')`,
  halt_v1: `halt_v1(split_part($1, '.', 1), $1, 'gone', 'note', 1, 2, 3)`,
  resume_v1: 'resume_v1($1)',
  heads_v1: 'heads_v1(ARRAY[$1])',
  halts_v1: 'halts_v1()',
  halt_v2: `halt_v2(split_part($1, '.', 1), $1, 'gone', '[{"epoch":0,"lostFrom":1,"lostUntil":2,"checkpoint":"note"}]', 3)`,
  resume_v2: 'resume_v2($1)',
  heads_v2: 'heads_v2(ARRAY[$1])',
  declare_loss_v1: `declare_loss_v1($1, '{"lost":[]}', 'me', 'req')`,
  integrate_begin_v2: 'integrate_begin_v2($1, 10)',
  integrate_commit_v3: `integrate_commit_v3(ARRAY[$1], ARRAY[1::int8], ARRAY[${bytes}], ARRAY['forged'], ARRAY[]::int4[], ARRAY[]::int2[],
    ARRAY[]::int8[], ARRAY[]::bytea[])`,
  halts_v2: 'halts_v2()',
  epochs_v1: 'epochs_v1(ARRAY[$1])',
  logs_v1: 'logs_v1()',
  integrate_commit_v2: `integrate_commit_v2(ARRAY[$1], ARRAY[1::int8], ARRAY[${bytes}], ARRAY['forged'], ARRAY[]::int4[], ARRAY[]::int2[],
    ARRAY[]::int8[], ARRAY[]::bytea[])`,
  make_partitions_v1: 'make_partitions_v1()',
  forget_claims_v1: 'forget_claims_v1(400, 10)',
  checkpoint_v1: 'checkpoint_v1($1)',
  tiles_v1: 'tiles_v1($1, ARRAY[0::int2], ARRAY[0::int8])',
  channels_v1: 'channels_v1()',
  rights_v1: 'rights_v1($1)',
};
