import { canonical, type Bytes } from '@sealgate/json';
import { leafHash } from '@sealgate/merkle';

export const DECLARATION_TYPE = 'sealgate.declaration.v1';

/** The lost range of one log of a channel, as leaf indexes. Equal indexes mean that the log ended without a loss. */
export type LostEntries = {
  readonly epoch: number;
  /** First signed leaf index that is lost. */
  readonly lostFrom: number;
  /** First index after the lost range. */
  readonly lostUntil: number;
  /** The newest signed checkpoint of that log: `lostUntil` entries. The log is never signed again. */
  readonly checkpoint: string;
  /** The newest checkpoint consistent with the surviving entries: `lostFrom` entries; null when there is none. */
  readonly surviving: string | null;
};

/**
 * The statement that continues a channel after acknowledged records were lost. It is the first leaf of a new log, the
 * channel's next epoch.
 */
export type Declaration = {
  readonly type: typeof DECLARATION_TYPE;
  readonly network: string;
  readonly channel: string;
  /** From 1. Epoch 0 precedes the first declared loss. */
  readonly epoch: number;
  /** Origin of this epoch's checkpoints. */
  readonly origin: string;
  /** Oldest log first. */
  readonly lost: LostEntries[];
  readonly reason: string;
  /** The operator who declared the loss. */
  readonly actor: string;
  /** RFC 3339, UTC, milliseconds. */
  readonly at: string;
};

/** The name of a log within its ledger: `<channel>`, or `<channel>/e<epoch>` after a declared loss. */
export function logName(channel: string, epoch: number): string {
  return epoch === 0 ? channel : `${channel}/e${epoch}`;
}

/** Parses a log name; undefined when `logName` would not have written it. */
export function parseLogName(log: string): { readonly channel: string; readonly epoch: number } | undefined {
  const [, channel, epoch] = /^([^/]+)(?:\/e([1-9]\d{0,8}))?$/.exec(log) ?? [];
  return channel === undefined ? undefined : { channel, epoch: Number(epoch ?? 0) };
}

/** The canonical JSON (RFC 8785) of a declaration, as hashed and stored. */
export function declarationText(declaration: Declaration): string {
  return canonical(declaration);
}

/** The RFC 6962 leaf hash of a declaration: SHA-256(0x00 ‖ JCS(declaration)). */
export function declarationLeaf(declaration: Declaration): Bytes {
  return leafHash(declarationText(declaration));
}
