import { AppError } from '@sealgate/errors';
import { type Route, instantText, lineOfText, named, orNull } from '@sealgate/http';
import type { CursorCodec } from '@sealgate/paging';
import { DeclaredLoss } from '@sealgate/schemas';
import { type Static, Type } from '@sinclair/typebox';
import { adminBase, type AdminCaller, adminRoute } from './admin-app.ts';
import { ledgerCall, noChannel } from './ledger-loss.ts';
import { listRoute } from './list-route.ts';

const Text = Type.String();
const Time = instantText();
const Channel = lineOfText({ min: 1, max: 1024 });

const ChannelRow = named(
  'Channel',
  Type.Object({
    channel: Text,
    size: Type.Integer({ description: 'Records.' }),
    signed: Type.Integer({ description: 'Number of records that the newest checkpoint covers.' }),
    signedUntil: orNull(Time, {
      description:
        'Time of the newest record covered by a checkpoint; null if there is none or its time cannot be read.',
    }),
    unsignedSince: orNull(Time, {
      description:
        'Time of the oldest record not yet covered by a checkpoint; null if there is none or its time cannot be read.',
    }),
    archived: orNull(Type.Integer(), {
      description:
        'Records in the archive, counted from the first one; null if the listener may not audit the channel.',
    }),
  }),
);

const ListedRecord = named(
  'ListedRecord',
  Type.Object({
    id: Text,
    type: Text,
    owner: orNull(Text),
    transactionId: Text,
    position: Type.Integer({ description: 'Its number in the channel, counted from 0 without gaps.' }),
    index: Type.Integer({ description: 'Index of its leaf in the log of its epoch.' }),
    epoch: Type.Optional(Type.Integer()),
    at: orNull(Time),
    erased: Type.Boolean(),
    archived: Type.Boolean({ description: 'Owner and time are in an archive file with the content, and null here.' }),
  }),
);

const LogRow = named(
  'LedgerLog',
  Type.Object({
    epoch: Type.Integer(),
    origin: Type.String({ description: 'Origin line of its checkpoints.' }),
    checkpoint: orNull(Text, {
      description: 'The newest signed note (C2SP tlog-checkpoint); for a closed log, its last one.',
    }),
    published: orNull(Text, {
      description: 'What the public log serves: with witnesses the newest note that they cosigned, else the newest.',
    }),
    declaration: orNull(DeclaredLoss),
  }),
);

const Logs = named('LedgerLogs', Type.Object({ channel: Text, logs: Type.Array(LogRow) }));

const Keys = named(
  'LedgerKeys',
  Type.Object({
    origin: Type.String({
      description: 'Followed by a slash and the name of a channel, it is the origin of checkpoints.',
    }),
    keys: Type.Array(
      named(
        'LedgerKey',
        Type.Object({
          verifierKey: Type.String({ description: 'Verifier key to pin (C2SP signed-note).' }),
          name: Text,
          keyId: Type.String({ description: 'Eight hex digits.' }),
        }),
      ),
    ),
  }),
);

const WitnessPolicies = named(
  'WitnessPolicies',
  Type.Object({
    policies: Type.Array(
      named(
        'WitnessPolicy',
        Type.Object({
          channel: orNull(Text, { description: 'null: every channel without a policy of its own.' }),
          policy: Type.String({
            description: 'C2SP tlog-policy: the witnesses with their keys and URLs, and the quorum.',
          }),
        }),
      ),
    ),
  }),
);

type Overview = Omit<Static<typeof ChannelRow>, 'signedUntil' | 'unsignedSince' | 'archived'> & {
  readonly archived: number | undefined;
  readonly signedUntil: string | undefined;
  readonly unsignedSince: string | undefined;
};

type Listed = Omit<Static<typeof ListedRecord>, 'owner' | 'at' | 'epoch'> & {
  readonly owner: string | null | undefined;
  readonly at: string | undefined;
  readonly epoch?: number;
};

/** Lists the contents of a ledger without record data; see `LedgerExploration` of the embedded ledger. */
export interface LedgerExplorer {
  overview(
    wanted: { readonly after: string; readonly limit: number } | { readonly channel: string },
  ): Promise<readonly Overview[]>;
  list(page: {
    readonly channel: string;
    readonly below: number | undefined;
    readonly limit: number;
  }): Promise<readonly Listed[] | undefined>;
  logs(channel: string): Promise<
    readonly {
      readonly epoch: number;
      readonly origin: string;
      readonly checkpoint: string | undefined;
      readonly published: string | undefined;
      readonly declaration: object | null;
    }[]
  >;
  logKeys(channel: string): Promise<string | undefined>;
  readonly keys: {
    readonly origin: string;
    readonly keys: readonly { readonly verifierKey: string; readonly name: string; readonly keyId: string }[];
  };
  readonly witnessPolicies: readonly Static<typeof WitnessPolicies>['policies'][number][];
}

interface ExplorerPorts {
  readonly ledger: { readonly exploration: LedgerExplorer };
  readonly cursors: CursorCodec;
}

const base = { ...adminBase, method: 'get' } as const;
const params = Type.Object({ channel: Channel });

/** Read-only routes to browse a ledger: channels, records, logs, and the keys that verify checkpoints. */
export function explorerRoutes(ports: ExplorerPorts): Route<AdminCaller>[] {
  return [...channelRoutes(ports), recordsRoute(ports), ...logRoutes(ports)];
}

function channelRoutes({ ledger, cursors }: ExplorerPorts): Route<AdminCaller>[] {
  const list = listRoute({
    path: '/admin/v1/ledger/channels',
    operationId: 'listChannels',
    summary: 'List the channels of the ledger by name, with how far checkpoints and the archive cover each',
    errors: ['LEDGER_UNAVAILABLE'],
    name: 'channels',
    boundTo: [],
    rows: ({ limit, after = '' }) => ledgerCall(ledger.exploration.overview({ after, limit })),
    positionOf: ({ channel }: Overview) => channel,
    row: ChannelRow,
    rowOf: channelRowOf,
    cursors,
  });
  const get = adminRoute({
    ...base,
    path: '/admin/v1/ledger/channels/:channel',
    operationId: 'getChannel',
    summary: 'Get the size of a channel, and how far checkpoints and the archive cover it',
    params,
    responses: { 200: { description: 'The channel.', schema: ChannelRow } },
    errors: ['NOT_FOUND', 'LEDGER_UNAVAILABLE'],
    async handler({ params: { channel } }) {
      const [row] = await ledgerCall(ledger.exploration.overview({ channel }));
      if (row === undefined) throw noChannel();
      return { status: 200, body: channelRowOf(row) };
    },
  });
  return [list, get];
}

const channelRowOf = ({ signedUntil, unsignedSince, archived, ...row }: Overview): Static<typeof ChannelRow> => ({
  ...row,
  signedUntil: signedUntil ?? null,
  unsignedSince: unsignedSince ?? null,
  archived: archived ?? null,
});

const Position = Type.String({ pattern: '^(0|[1-9][0-9]{0,14})$' });

function recordsRoute({ ledger, cursors }: ExplorerPorts): Route<AdminCaller> {
  return listRoute({
    path: '/admin/v1/ledger/channels/:channel/records',
    operationId: 'listRecords',
    summary: 'List the records of a channel, newest first, without their data',
    params,
    filters: {
      below: Type.Optional({ ...Position, description: 'A position: the list starts with the record before it.' }),
    },
    errors: ['FORBIDDEN', 'NOT_FOUND', 'LEDGER_UNAVAILABLE'],
    name: 'records',
    boundTo: ['channel', 'below'],
    async rows({ channel, limit, after, below }) {
      const begin = after ?? (below === undefined ? undefined : Number(below));
      const found = await ledgerCall(ledger.exploration.list({ channel, below: begin, limit }));
      if (found === undefined) throw noChannel();
      return found;
    },
    positionOf: ({ position }: Listed) => position,
    row: ListedRecord,
    rowOf: listedRowOf,
    cursors,
  });
}

function listedRowOf({ id, type, owner, transactionId, position, ...rest }: Listed): Static<typeof ListedRecord> {
  const { index, epoch, at, erased, archived } = rest;
  const place = epoch === undefined ? { index } : { index, epoch };
  return { id, type, owner: owner ?? null, transactionId, position, ...place, at: at ?? null, erased, archived };
}

function logRoutes({ ledger }: ExplorerPorts): Route<AdminCaller>[] {
  const logs = adminRoute({
    ...base,
    path: '/admin/v1/ledger/channels/:channel/logs',
    operationId: 'listLogs',
    summary: 'List the logs of a channel with their newest checkpoints, oldest first; a declared loss starts a new log',
    params,
    responses: { 200: { description: 'The logs.', schema: Logs } },
    errors: ['NOT_FOUND', 'LEDGER_UNAVAILABLE'],
    async handler({ params: { channel } }) {
      const found = await ledgerCall(ledger.exploration.logs(channel));
      if (found.length === 0) throw noChannel();
      const rows = found.map(({ checkpoint = null, published = null, ...log }) => ({ ...log, checkpoint, published }));
      return { status: 200, body: { channel, logs: rows } };
    },
  });
  const logKeys = adminRoute({
    ...base,
    path: '/admin/v1/ledger/channels/:channel/key',
    operationId: 'getLogKeys',
    summary: 'Get the keys that sign the checkpoints of the current log of a channel, signed by the root key',
    description:
      'With the root key pinned, it makes these keys trusted: `sealgate-verify checkpoint FILE --key ROOT --statement ' +
      'key.txt`. A policy (C2SP tlog-policy) lists them in its log lines.',
    params,
    responses: { 200: { description: 'A signed note.', contentType: 'text/plain; charset=utf-8' } },
    errors: ['NOT_FOUND', 'LEDGER_UNAVAILABLE'],
    async handler({ params: { channel } }) {
      const note = await ledgerCall(ledger.exploration.logKeys(channel));
      if (note === undefined) throw new AppError('NOT_FOUND', 'The channel has no signed checkpoint.');
      return { status: 200, body: note, contentType: 'text/plain; charset=utf-8' };
    },
  });
  const keys = adminRoute({
    ...base,
    path: '/admin/v1/ledger/keys',
    operationId: 'getLedgerKeys',
    summary: 'List the published keys that verify checkpoints, as this process knows them',
    responses: { 200: { description: 'The keys.', schema: Keys } },
    errors: [],
    handler: () => Promise.resolve({ status: 200, body: ledger.exploration.keys }),
  });
  const witnesses = adminRoute({
    ...base,
    path: '/admin/v1/ledger/witnesses',
    operationId: 'getWitnessPolicies',
    summary: 'List the policies of witnesses, as this process is configured with them',
    description:
      'A process that integrates has checkpoints cosigned by these witnesses; others may have no policy. Which of them ' +
      'cosigned is in the checkpoints themselves: see listLogs.',
    responses: { 200: { description: 'The policies.', schema: WitnessPolicies } },
    errors: [],
    handler: () =>
      Promise.resolve({
        status: 200,
        body: { policies: ledger.exploration.witnessPolicies.map((one) => ({ ...one })) },
      }),
  });
  return [logs, logKeys, keys, witnesses];
}
