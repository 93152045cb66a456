import { readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { isLoopback } from '@sealgate/auth';
import { Ajv, type AnySchema, type ErrorObject, type ValidateFunction } from 'ajv';
import { ConnectionFile, type ConnectionFileContent } from './connection-schema.ts';

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

/** A connection file, checked: every path absolute, every default filled in. */
export interface FabricConnection {
  readonly mspId: string;
  readonly certFile: string;
  readonly keyFile: string;
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

/** What is wrong with a connection file, all of it at once. */
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
 * Reads and checks a connection file (JSON). Paths in it are relative to its folder. Whether the files it names are
 * there is not checked here: `credentials()` says so, and they may come later.
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

/** The same for what was read already; `path` is where it lies. @throws ConnectionFileError. */
export function parseConnection(content: unknown, path: string): FabricConnection {
  if (typeof content !== 'object' || content === null || Array.isArray(content)) {
    throw new ConnectionFileError(path, ['must hold a JSON object']);
  }
  // The validator fills in defaults, so it gets its own copy.
  const file: unknown = { deadlinesMs: {}, limits: {}, ...structuredClone(content) };
  if (!validate(file)) throw new ConnectionFileError(path, (validate.errors ?? []).map(faultOf));
  const faults = [...peerFaults(file), ...channelFaults(file)];
  if (faults.length > 0) throw new ConnectionFileError(path, faults);
  const folder = dirname(resolve(path));
  const optional = (name: string | undefined) => (name === undefined ? undefined : resolve(folder, name));
  return {
    mspId: file.mspId,
    certFile: resolve(folder, file.certFile),
    keyFile: resolve(folder, file.keyFile),
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
