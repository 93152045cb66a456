import type { Declaration, LostEntries as EnvelopeLostEntries } from '@sealgate/envelope';
import { Type } from '@sinclair/typebox';
import { instantText, named, orNull, type MembersOf } from './schemas.ts';

const Text = Type.String();
const Note = 'A signed note (C2SP tlog-checkpoint)';

export const LostEntries = named(
  'LostEntries',
  Type.Object({
    epoch: Type.Integer({ description: 'Epoch of the affected log; 0 is the first log of the channel.' }),
    lostFrom: Type.Integer({ description: 'First index of that log that was covered by a checkpoint and is lost.' }),
    lostUntil: Type.Integer({ description: 'First index after the lost ones; equal to lostFrom if none are lost.' }),
    checkpoint: Type.String({ description: `${Note}: the newest kept checkpoint of that log.` }),
    surviving: orNull(Text, { description: `${Note}: the newest that the surviving log extends.` }),
  } satisfies MembersOf<EnvelopeLostEntries>),
);

/** The statement at the start of an epoch of a channel. */
export const DeclaredLoss = named(
  'DeclaredLoss',
  Type.Object({
    type: Type.Literal('sealgate.declaration.v1'),
    network: Text,
    channel: Text,
    epoch: Type.Integer({ minimum: 1 }),
    origin: Type.String({ description: 'The first line of the checkpoints of this epoch.' }),
    lost: Type.Array(LostEntries, { description: 'Oldest log first.' }),
    reason: Text,
    actor: Text,
    at: instantText(),
  } satisfies MembersOf<Declaration>),
);
