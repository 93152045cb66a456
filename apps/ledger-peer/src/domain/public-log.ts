import type { Receipt as SealedReceipt, RecordProof } from '@sealgate/envelope';
import { DeclaredLoss, named, orNull, type MembersOf } from '@sealgate/schemas';
import { Type, type Static } from '@sinclair/typebox';
import { AnyJson, ReadAsset } from './asset.ts';

const Text = Type.String();
const Hex = Type.String({ pattern: '^[0-9a-f]{64}$' });
const Note = Type.String({ description: 'A signed note (C2SP tlog-checkpoint).' });

const Receipt = named(
  'Receipt',
  Type.Object({
    network: Text,
    channel: Text,
    id: Text,
    type: Text,
    owner: orNull(Text),
    dataHash: Hex,
    salt: orNull(Hex),
    extra: AnyJson({}),
    transactionId: Text,
    at: Text,
    index: Type.Integer(),
    epoch: Type.Optional(
      Type.Integer({ minimum: 1, description: 'Epoch of the log; present once the channel has declared a loss.' }),
    ),
  } satisfies MembersOf<SealedReceipt>),
);

const InclusionProof = named(
  'InclusionProof',
  Type.Object({
    channel: Text,
    index: Type.Integer(),
    leafHash: Hex,
    treeSize: Type.Integer(),
    inclusionPath: Type.Array(Hex, { description: 'From the leaf to the root.' }),
    checkpoint: Note,
    epoch: Type.Optional(Type.Integer({ minimum: 1 })),
    origin: Type.Optional(Text),
    declaration: Type.Optional(
      Type.Object(
        { statement: DeclaredLoss, inclusionPath: Type.Array(Hex) },
        { description: 'The first entry of the log of that epoch: entry 0 under the same checkpoint.' },
      ),
    ),
  } satisfies MembersOf<RecordProof>),
);

const proved = { receipt: Receipt, proof: InclusionProof };
/** A record that the log proves. */
export const ProvedRecord = named('ProvedRecord', Type.Object(proved));
export type ProvedRecord = Readonly<Static<typeof ProvedRecord>>;

export const ProvedAsset = named(
  'ProvedAsset',
  Type.Object({ asset: ReadAsset, ...proved }, { description: 'With `proof=true`.' }),
);

/** The first entry of an epoch. */
export const ProvedDeclaration = named(
  'ProvedDeclaration',
  Type.Object({
    statement: DeclaredLoss,
    inclusionPath: Type.Array(Text, { description: 'From entry 0 to the root.' }),
    treeSize: Type.Integer(),
    checkpoint: Note,
  }),
);
type ProvedDeclaration = Readonly<Static<typeof ProvedDeclaration>>;

/** One log of a channel. `declaration` is null for the first. */
const ChannelLog = named(
  'ChannelLog',
  Type.Object({ epoch: Type.Integer(), origin: Text, path: Text, declaration: orNull(DeclaredLoss) }),
);
type ChannelLog = Readonly<Static<typeof ChannelLog>>;

export const ChannelLogs = named(
  'ChannelLogs',
  Type.Object({
    channel: Text,
    epoch: Type.Integer({ description: 'The current epoch of the channel; 0 before its first declared loss.' }),
    origin: Type.String({ description: 'Origin of its checkpoints.' }),
    path: Type.String({ description: 'Path of its checkpoint and tiles.' }),
    logs: Type.Array(ChannelLog, { description: 'Oldest first. A closed log keeps its last checkpoint.' }),
  }),
);

export const PublishedLogs = named(
  'PublishedLogs',
  Type.Object({ logs: Type.Array(Type.Object({ channel: Text }), { description: 'By name.' }) }),
);

/** An entry without what it says: where it is, and since when. */
export const FoundEntry = named(
  'FoundEntry',
  Type.Object({
    at: orNull(Type.String({ description: 'When it was written; null if only the archive knows.' })),
    proof: InclusionProof,
  }),
);

export const LogOverview = named(
  'LogOverview',
  Type.Object({
    channel: Text,
    logs: Type.Array(
      Type.Object({
        epoch: Type.Integer(),
        origin: Text,
        declaration: orNull(DeclaredLoss),
        checkpoint: orNull(Note),
      }),
      { description: 'Oldest first, each with its newest checkpoint; a closed log keeps its last one.' },
    ),
    growth: Type.Array(Type.Object({ size: Type.Integer(), at: Text }), {
      maxItems: 49,
      description: 'How many records the channel had, and when; oldest first.',
    }),
  }),
);

/** Exactly one entry. */
export type EntryWanted =
  | { readonly id: string }
  | { readonly leafHash: Buffer }
  | { readonly place: { readonly index: number; readonly epoch?: number } };

interface EntryBundle {
  readonly bytes: Buffer;
  /** Whether the same Buffer is returned again, so that it is worth compressing. */
  readonly isKept: boolean;
}

interface Found {
  readonly at: string | undefined;
  readonly proof: RecordProof;
}

/** The public transparency log; undefined on a ledger without one. */
export interface PublicLog {
  /** Also undefined if `serves` rejects the type of the record, which is asked before anything is proved. */
  prove(channel: string, id: string, serves: (type: string) => boolean): Promise<ProvedRecord | undefined>;
  /** A channel, or its log of a later epoch: `<channel>/e<epoch>`. */
  checkpoint(log: string): Promise<string | undefined>;
  /** The signing keys of a log, as a note of the root key; undefined if nothing is signed for. */
  logKeys(log: string): Promise<string | undefined>;
  /** The logs of a channel, oldest first; the last one is current. Empty if nothing is signed for. */
  logs(channel: string): Promise<readonly Omit<ChannelLog, 'path'>[]>;
  /** The first entry of an epoch with its proof; undefined if none is signed for. */
  declaration(channel: string, epoch: number): Promise<ProvedDeclaration | undefined>;
  /**
   * The hashes of one tile, by its C2SP path (`tile/0/x001/067`); undefined if the newest checkpoint has no such tile.
   */
  tile(log: string, path: string): Promise<Buffer | undefined>;
  /** The preimages of the leaves of a tile: `tile/entries/x001/067`. They contain id, type and owner of each record. */
  entries(log: string, path: string): Promise<EntryBundle | undefined>;
  /** Undefined if there is none, or no published checkpoint covers it yet. */
  find(channel: string, wanted: EntryWanted): Promise<Found | undefined>;
  /** Oldest first. */
  growth(channel: string): Promise<readonly { readonly size: number; readonly at: string }[]>;
}
