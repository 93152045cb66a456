import type { Schemas } from '@sealgate/client';
import { canonical, type JsonValue } from '@sealgate/json';
import { settleSignatures } from '@sealgate/merkle';
import { checkEntry, type ReceiptFile, type Report } from '@sealgate/verify/checks';
import { server } from '../../shell/api.ts';
import { publicLogKeys } from '../prove/take-keys.ts';
import { checkFiles, type Checked } from '../verify/check-files.ts';
import { noPins, pinnedVerifier } from '../verify/pins.ts';
import { sortFile, type NamedFile } from '../verify/sort-file.ts';
import * as texts from './texts.ts';

export type LogOverview = Schemas['ledgerPeer']['LogOverview'];

/** Exactly one of them; `epoch` belongs to `index`. */
export interface Wanted {
  readonly id?: string;
  readonly index?: string;
  readonly epoch?: string;
  readonly leafHash?: string;
}

/** A receipt that the visitor has. */
export interface OwnReceipt {
  readonly name: string;
  readonly file: ReceiptFile;
  readonly value: JsonValue;
}

/** An entry that was found, checked here. */
export interface Found {
  readonly at: string | null;
  readonly proof: ReceiptFile['proof'];
  readonly report: Report;
  /** The visitor's receipt against the proof of the log. */
  readonly own?: Checked;
}

/** The receipt in a file. Throws an Error for people if it has none. */
export function ownReceiptIn(file: NamedFile): OwnReceipt {
  const sorted = sortFile(file);
  if (sorted.is === 'receipt') return { name: file.name, file: sorted.file, value: sorted.value };
  throw new Error(texts.isNoProofWithAReceipt(file.name));
}

/** Throws ProblemError. */
export async function findEntry(
  channel: string,
  { wanted, own }: { readonly wanted: Wanted; readonly own: OwnReceipt | undefined },
  signal: AbortSignal,
): Promise<Found> {
  const { data: answer } = await server.GET('/api/ledger-peer/ledger/{channel}/entry', {
    params: { path: { channel }, query: wanted },
    signal,
  });
  // As the service describes it.
  const { at, proof } = answer as { readonly at: string | null; readonly proof: ReceiptFile['proof'] };
  const logKeys = await publicLogKeys([proof.checkpoint], signal);
  const pins = { ...noPins, logKeys };
  const report = await settleSignatures(() => checkEntry({ name: 'entry', proof, verifier: pinnedVerifier(pins) }));
  if (own === undefined || own.file.proof.leafHash !== proof.leafHash) return { at, proof, report };
  const joined = canonical({ ...(own.value as { [member: string]: JsonValue }), proof: proof as unknown as JsonValue });
  const [checked] = await checkFiles([{ name: own.name, bytes: new TextEncoder().encode(joined) }], pins);
  return { at, proof, report, ...(checked !== undefined && { own: checked }) };
}
