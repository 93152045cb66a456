import { canonical, type Bytes } from '@sealgate/json';
import { leafHash } from '@sealgate/merkle';

export const DECLARATION_TYPE = 'sealgate.declaration.v1';

/** What is lost of one log of a channel. Indexes are places in that log; where they are equal, it ended and lost nothing. */
export type LostEntries = {
  readonly epoch: number;
  /** The first index that was signed for and is lost. */
  readonly lostFrom: number;
  /** The first one behind. */
  readonly lostUntil: number;
  /** The newest signed note of that log: over `lostUntil` entries. It is never signed again. */
  readonly checkpoint: string;
  /** The newest one that what is left continues: over `lostFrom` entries; null where nothing is. */
  readonly surviving: string | null;
};

/**
 * The statement with which a channel goes on after acknowledged records were lost: the first leaf of a log of its own, the
 * next epoch of the channel.
 */
export type Declaration = {
  readonly type: typeof DECLARATION_TYPE;
  readonly network: string;
  readonly channel: string;
  /** From 1. What was written before the first declared loss is epoch 0. */
  readonly epoch: number;
  /** Of this epoch's checkpoints. */
  readonly origin: string;
  /** Oldest log first. */
  readonly lost: LostEntries[];
  readonly reason: string;
  /** Who declared it. */
  readonly actor: string;
  /** RFC 3339, UTC, milliseconds. */
  readonly at: string;
};

/** The name of a log within its ledger: `<channel>`, after a declared loss `<channel>/e<epoch>`. */
export function logName(channel: string, epoch: number): string {
  return epoch === 0 ? channel : `${channel}/e${epoch}`;
}

/** Takes the name of a log apart; undefined where it is not written as `logName` does. */
export function parseLogName(log: string): { readonly channel: string; readonly epoch: number } | undefined {
  const [, channel, epoch] = /^([^/]+)(?:\/e([1-9]\d{0,8}))?$/.exec(log) ?? [];
  return channel === undefined ? undefined : { channel, epoch: Number(epoch ?? 0) };
}

/** The canonical JSON (RFC 8785) of a declaration: what is hashed, and what is stored. */
export function declarationText(declaration: Declaration): string {
  return canonical(declaration);
}

/** The RFC 6962 leaf hash of a declaration: SHA-256(0x00 ‖ JCS(declaration)). */
export function declarationLeaf(declaration: Declaration): Bytes {
  return leafHash(declarationText(declaration));
}
