import { readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { isLoopback } from '@sealgate/auth';
import { Type, type Static } from '@sinclair/typebox';
import { Ajv, type AnySchema, type ErrorObject, type ValidateFunction } from 'ajv';
import {
  callersOf,
  identitiesOf,
  identityFaults,
  identityMembers,
  ONLY_IDENTITY,
  type FabricCaller,
} from './connection-identities.ts';
import type { IdentitySource } from './identity-files.ts';

const closed = { additionalProperties: false };
const milliseconds = (fallback: number, maximum = 600_000) =>
  Type.Optional(Type.Integer({ minimum: 1, maximum, default: fallback }));
const count = (fallback: number, maximum: number) =>
  Type.Optional(Type.Integer({ minimum: 1, maximum, default: fallback }));

const Peer = Type.Object(
  {
    /** `host:port` of a gateway peer. */
    endpoint: Type.String({ pattern: '^[^\\s/:]+:[0-9]{1,5}$|^\\[[0-9A-Fa-f:.]+\\]:[0-9]{1,5}$' }),
    /** PEM. Absent: plaintext, on loopback only. */
    tlsCaFile: Type.Optional(Type.String({ minLength: 1 })),
    /** PEM, both or neither: the client certificate for a peer that requires one, and its key. */
    tlsCertFile: Type.Optional(Type.String({ minLength: 1 })),
    tlsKeyFile: Type.Optional(Type.String({ minLength: 1 })),
    /** The name in the peer's TLS certificate if it differs from the endpoint. */
    serverNameOverride: Type.Optional(Type.String({ minLength: 1 })),
  },
  closed,
);

const Channel = Type.Object(
  {
    /** Fabric's name of the channel. */
    name: Type.String({ pattern: '^[a-z][a-z0-9.-]{0,248}$' }),
    /**
     * Which of our channels (`<networkId>.<name>`) its `records` contract stores: a single one (`acme.main`), those of
     * a network (`acme.*`), or all (`*`).
     */
    holds: Type.Optional(
      Type.Array(Type.String({ pattern: '^(\\*|[a-z0-9][a-z0-9-]{1,62}\\.(\\*|[a-z0-9-]{1,40}))$' }), {
        maxItems: 1000,
      }),
    ),
  },
  closed,
);

/** A connection file; see the README for every member. */
const ConnectionFile = Type.Object(
  {
    ...identityMembers,
    /** In order of preference. */
    peers: Type.Array(Peer, { minItems: 1, maxItems: 32 }),
    channels: Type.Array(Channel, { minItems: 1, maxItems: 100 }),
    deadlinesMs: Type.Optional(
      Type.Object(
        {
          evaluate: milliseconds(5000),
          endorse: milliseconds(10_000),
          submit: milliseconds(5000),
          commitStatus: milliseconds(5000),
          /** For a caller of submit, all phases and attempts together. */
          answer: milliseconds(15_000),
        },
        closed,
      ),
    ),
    limits: Type.Optional(
      Type.Object(
        {
          /** Maximum concurrent calls to peers; a peer's default limit is 500 for all its clients. */
          window: count(200, 5000),
          /** Maximum callers queued for the window. */
          queue: count(4096, 1_000_000),
          /** Maximum journalled, unsettled transactions. */
          unsettled: count(20_000, 1_000_000),
          /** Maximum bytes of the arguments of one call. */
          callBytes: count(4 * 1024 * 1024, 64 * 1024 * 1024),
          /** Maximum transactions, the first included, while others change the same keys. */
          conflictAttempts: count(8, 100),
        },
        closed,
      ),
    ),
  },
  closed,
);

type ConnectionFileContent = Static<typeof ConnectionFile>;

export interface FabricPeer {
  readonly endpoint: string;
  /** Absolute; undefined: plaintext, on loopback. */
  readonly tlsCaFile: string | undefined;
  /** Absolute, both or neither: for mutual TLS. */
  readonly tlsCertFile: string | undefined;
  readonly tlsKeyFile: string | undefined;
  readonly serverNameOverride: string | undefined;
}

export interface FabricChannel {
  /** Fabric's own name. */
  readonly name: string;
  readonly holds: readonly string[];
}

/** A validated connection file: paths are absolute, defaults are filled in. */
export interface FabricConnection {
  /** One at least; their names differ. */
  readonly identities: readonly IdentitySource[];
  /** The name of the one that signs for callers without an entry; undefined: for them nothing is signed. */
  readonly defaultIdentity: string | undefined;
  readonly callers: readonly FabricCaller[];
  /** Names of identities that were removed on purpose. */
  readonly retired: readonly string[];
  readonly peers: readonly FabricPeer[];
  readonly channels: readonly FabricChannel[];
  readonly deadlinesMs: FabricDeadlines;
  readonly limits: FabricLimits;
}

export interface FabricDeadlines {
  readonly evaluate: number;
  readonly endorse: number;
  readonly submit: number;
  readonly commitStatus: number;
  readonly answer: number;
}

export interface FabricLimits {
  readonly window: number;
  readonly queue: number;
  readonly unsettled: number;
  readonly callBytes: number;
  readonly conflictAttempts: number;
}

/** All faults of a connection file. */
export class ConnectionFileError extends Error {
  override readonly name = 'ConnectionFileError';
  readonly faults: readonly string[];

  constructor(file: string, faults: readonly string[], options?: ErrorOptions) {
    super(`${file}: ${faults.join('; ')}`, options);
    this.faults = faults;
  }
}

const validate: ValidateFunction<ConnectionFileContent> = new Ajv({
  strict: true,
  allErrors: true,
  useDefaults: true,
}).compile<ConnectionFileContent>(ConnectionFile as AnySchema);

/**
 * Reads and validates a connection file (JSON). Its paths are relative to its folder. The files it names are not
 * checked here: `credentials()` reports missing ones, and they may appear later.
 *
 * @throws ConnectionFileError with every fault.
 */
export function readConnectionFile(path: string): FabricConnection {
  let content: unknown;
  try {
    content = JSON.parse(readFileSync(path, 'utf8'));
  } catch (cause) {
    const fault = cause instanceof SyntaxError ? 'is not JSON' : 'cannot be read';
    throw new ConnectionFileError(path, [fault], { cause });
  }
  return parseConnection(content, path);
}

/** The same for parsed content; `path` is its location. @throws ConnectionFileError. */
export function parseConnection(content: unknown, path: string): FabricConnection {
  if (typeof content !== 'object' || content === null || Array.isArray(content)) {
    throw new ConnectionFileError(path, ['must hold a JSON object']);
  }
  // The validator fills in defaults, so it gets its own copy.
  const file: unknown = { deadlinesMs: {}, limits: {}, ...structuredClone(content) };
  if (!validate(file)) throw new ConnectionFileError(path, (validate.errors ?? []).map(faultOf));
  const faults = [...identityFaults(file), ...peerFaults(file), ...channelFaults(file)];
  if (faults.length > 0) throw new ConnectionFileError(path, faults);
  const folder = dirname(resolve(path));
  const optional = (name: string | undefined) => (name === undefined ? undefined : resolve(folder, name));
  return {
    identities: identitiesOf(file, optional),
    defaultIdentity: file.identities === undefined ? ONLY_IDENTITY : (file.default ?? undefined),
    callers: callersOf(file),
    retired: file.retired ?? [],
    peers: file.peers.map(({ endpoint, tlsCaFile, tlsCertFile, tlsKeyFile, serverNameOverride }) => ({
      endpoint,
      tlsCaFile: optional(tlsCaFile),
      tlsCertFile: optional(tlsCertFile),
      tlsKeyFile: optional(tlsKeyFile),
      serverNameOverride,
    })),
    channels: file.channels.map(({ name, holds = [] }) => ({ name, holds })),
    deadlinesMs: file.deadlinesMs as FabricDeadlines,
    limits: file.limits as FabricLimits,
  };
}

function faultOf({ instancePath, keyword, params, message }: ErrorObject): string {
  const place = instancePath === '' ? 'the file' : instancePath;
  if (keyword === 'additionalProperties')
    return `${place} has an unknown member ${String(params['additionalProperty'])}`;
  return `${place} ${message ?? keyword}`;
}

function peerFaults({ peers }: ConnectionFileContent): string[] {
  const faults: string[] = [];
  peers.forEach(({ endpoint, tlsCaFile, tlsCertFile, tlsKeyFile }, position) => {
    const port = Number(endpoint.slice(endpoint.lastIndexOf(':') + 1));
    if (port < 1 || port > 65_535) faults.push(`/peers/${position}/endpoint has no port between 1 and 65535`);
    if (tlsCaFile === undefined && !isLoopback(endpoint.slice(0, endpoint.lastIndexOf(':')))) {
      faults.push(`/peers/${position} needs tlsCaFile: plaintext is for loopback only`);
    }
    if ((tlsCertFile === undefined) !== (tlsKeyFile === undefined)) {
      faults.push(`/peers/${position} needs both tlsCertFile and tlsKeyFile, or neither`);
    }
    if (tlsCertFile !== undefined && tlsCaFile === undefined) {
      faults.push(`/peers/${position} has a client certificate and no tlsCaFile`);
    }
    if (peers.findIndex((peer) => peer.endpoint === endpoint) < position) {
      faults.push(`/peers/${position}/endpoint is there twice`);
    }
  });
  return faults;
}

function channelFaults({ channels }: ConnectionFileContent): string[] {
  const faults: string[] = [];
  const names = new Set<string>();
  const held = new Set<string>();
  channels.forEach(({ name, holds = [] }, position) => {
    if (names.has(name)) faults.push(`/channels/${position}/name is there twice`);
    names.add(name);
    if (holds.length > 1 && holds.some((pattern) => !pattern.endsWith('*'))) {
      faults.push(`/channels/${position}/holds: a channel named without * has a Fabric channel of its own`);
    }
    holds.forEach((pattern, at) => {
      if (held.has(pattern)) faults.push(`/channels/${position}/holds/${at} is held twice`);
      held.add(pattern);
    });
  });
  return faults;
}
