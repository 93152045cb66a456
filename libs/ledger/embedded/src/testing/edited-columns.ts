const OURS = '(SELECT channel_id FROM ledger.channels WHERE channel = $1)';

/** A column, the statement that edits it in the channel `$1`, and the record that an audit must name. */
type Edit = readonly [column: string, statement: string, firstBadRecordId: string | null];

export const flipByte = (column: string): string => `set_byte(${column}, 3, get_byte(${column}, 3) # 1)`;
export const row =
  (table: string, where: string) =>
  (set: string): string =>
    `UPDATE ledger.${table} SET ${set} WHERE channel_id = ${OURS} AND ${where}`;

const flipText = (column: string) =>
  `overlay(${column} placing (CASE WHEN left(${column}, 1) = '~' THEN '!' ELSE '~' END) from 1 for 1)`;
const record4 = row('records', 'idx = 4');
const first = row('claims', 'first_index IS NOT NULL');
const mixed = row('claims', 'first_index IS NULL');
const id4 = row('ids', `id = 'r4'`);
const colliding = row('colliding_ids', 'true');
const tile = row('tiles', 'level = 0 AND tile = 0');
const checkpoint = row('checkpoints', 'true');
const erasure = row('erasures', 'true');

export const edits: readonly Edit[] = [
  ['records.channel_id', record4('channel_id = 999999'), 'r4'],
  ['records.idx', record4('idx = 1048575'), 'r4'],
  ['records.id', record4(`id = ${flipText('id')}`), '~4'],
  ['records.type', record4(`type = ${flipText('type')}`), 'r4'],
  ['records.owner', record4(`owner = ${flipText('owner')}`), 'r4'],
  ['records.owner to null', record4('owner = NULL'), 'r4'],
  ['records.data', record4(`data = '{"n":5}'`), 'r4'],
  ['records.extra', row('records', 'idx = 3')(`extra = '{"x":2}'`), 'r3'],
  ['records.extra to null', row('records', 'idx = 3')('extra = NULL'), 'r3'],
  ['records.salt', record4(`salt = ${flipByte('salt')}`), 'r4'],
  ['records.salt to null', record4('salt = NULL'), 'r4'],
  ['records.data and salt to null', record4('salt = NULL, data = NULL, extra = NULL'), 'r4'],
  ['records.data_hash', record4(`data_hash = sha256('x')`), 'r4'],
  ['records.leaf_hash', record4(`leaf_hash = ${flipByte('leaf_hash')}`), 'r4'],
  ['records.transaction_id', record4(`transaction_id = ${flipByte('transaction_id')}`), 'r4'],
  ['records.at_ms', record4('at_ms = at_ms + 1'), 'r4'],
  ['ids.channel_id', id4('channel_id = 999999'), 'r4'],
  ['ids.id', id4(`id = 'r4x'`), 'r4'],
  ['ids.uid', id4('uid = gen_random_uuid()'), 'r4'],
  ['ids.idx', id4('idx = 3'), 'r4'],
  ['colliding_ids.channel_id', colliding('channel_id = 999999'), 'r9'],
  ['colliding_ids.id', colliding(`id = 'r9x'`), 'r9'],
  ['colliding_ids.idx', colliding('idx = 3'), 'r9'],
  ['claims.claim_nonce', first(`claim_nonce = ${flipByte('claim_nonce')}`), 'r0'],
  [
    'claims.claim_nonce of the nonce',
    first('claim_nonce = set_byte(claim_nonce, 40, get_byte(claim_nonce, 40) # 1)'),
    'r0',
  ],
  ['claims.fingerprint', first(`fingerprint = 's1:g'`), 'r0'],
  ['claims.channel_id', first('channel_id = 999999'), null],
  ['claims.first_index', first('first_index = first_index + 1'), 'r1'],
  ['claims.record_count', first('record_count = record_count - 1'), 'r0'],
  ['claims.note', first(`note = '{"eventId":"ev2"}'`), 'r0'],
  ['claims.odd', mixed(`odd = jsonb_set(odd, '{indexes,0}', '4')`), 'r4'],
  ['claims.odd of the transaction', mixed(`odd = odd - 'transactionId'`), 'r5'],
  ['tiles.channel_id', tile('channel_id = 999999'), null],
  ['tiles.level', tile('level = 5'), null],
  ['tiles.tile', tile('tile = 77'), null],
  ['tiles.hashes', tile(`hashes = set_byte(hashes, 32 * 9, get_byte(hashes, 32 * 9) # 1)`), 'r9'],
  ['tiles.hashes of the right edge', row('tiles', 'level = 0 AND tile = 1')(`hashes = ${flipByte('hashes')}`), 'r256'],
  ['tiles.hashes of level 1', row('tiles', 'level = 1')(`hashes = ${flipByte('hashes')}`), null],
  ['checkpoints.size', checkpoint('size = size - 1'), null],
  ['checkpoints.root', checkpoint(`root = ${flipByte('root')}`), null],
  ['checkpoints.note', checkpoint(`note = overlay(note placing 'x' from 3 for 1)`), null],
  ['checkpoints.channel_id', checkpoint('channel_id = 999999'), null],
  ['erasures.idx', erasure('idx = 8'), 'r7'],
  ['erasures.reason', erasure(`reason = 'nobody asked'`), null],
  ['erasures.at_ms', erasure('at_ms = at_ms + 1'), null],
  ['erasures.erased_by', erasure(`erased_by = 'nobody'`), null],
  ['erasures.actor', erasure(`actor = 'nobody'`), null],
  ['erasures.request_id', erasure('request_id = NULL'), null],
  ['erasures.row_hash', erasure(`row_hash = ${flipByte('row_hash')}`), null],
  ['erasures.channel_id', erasure('channel_id = 999999'), 'r7'],
  ['channels.size up', row('channels', 'true')('size = size + 1'), null],
  ['channels.size down', row('channels', 'true')('size = size - 1'), null],
  ['channels.network', row('channels', 'true')(`network = 'acmf'`), 'r0'],
  ['record_types.id', row('record_types', `id = 'r4'`)(`id = 'r4x'`), null],
  ['record_types.type', row('record_types', `id = 'r4'`)(`type = 'x'`), null],
  ['record_types.idx', row('record_types', `id = 'r4'`)('idx = 3'), null],
  ['record_types.channel_id', row('record_types', `id = 'r4'`)('channel_id = 999999'), null],
  ['record_types_upto.channel_id', row('record_types_upto', 'true')('channel_id = 999999'), null],
  ['record_types_upto.upto', row('record_types_upto', 'true')('upto = upto - 1'), null],
];
