import type { Schemas } from '@sealgate/client';
import { canonical, parseStrict, type JsonValue } from '@sealgate/json';
import { isFabricProof } from '@sealgate/verify/checks';
import { server } from '../../shell/api.ts';
import { consoleFetch } from '../../shell/console-fetch.ts';
import { problemFrom, ProblemError } from '../../shell/problem.ts';
import type { LedgerSurface } from '../ledger/ledger-source.ts';
import { checkFiles, type Checked } from '../verify/check-files.ts';
import { noPins, type Pins } from '../verify/pins.ts';
import { sortFile } from '../verify/sort-file.ts';
import { notesIn } from '../verify/published-keys.ts';
import { adminLogKeys, keySetText, publicLogKeys } from './take-keys.ts';
import * as texts from './texts.ts';

export interface Proven {
  /** `{receipt, proof, record}`, for `sealgate-verify receipt` and the page Verify. */
  readonly bytes: Uint8Array;
  readonly checked: Checked;
  /** The signed document that the record is part of. */
  readonly pack?: Checked;
  /** What else to know about it. */
  readonly note?: string;
}

export interface RecordPlace {
  readonly channel: string;
  readonly id: string;
  readonly erased?: boolean | undefined;
}

export interface SealedCase {
  readonly caseId: string;
  /** Path of its pack at the console. */
  readonly packPath: string;
  /** Of one decision; default: the newest seal. */
  readonly sealHash?: string;
}

type AssessorPack = Schemas['caseGateAdmin']['AssessorPack'];

/** The unchanged bytes of the service: parsing and serialising could change numbers. */
async function bytesOf(path: string, init: RequestInit): Promise<Uint8Array<ArrayBuffer>> {
  const response = await consoleFetch(path, init);
  if (response.ok) return new Uint8Array(await response.arrayBuffer());
  const body: unknown = await response.json().catch(() => undefined);
  throw problemFrom(response, body, Date.now());
}

const noProof = (detail: string): ProblemError =>
  new ProblemError({ title: texts.thereIsNoProof, status: 404, code: 'NO_PROOF', detail });

/** What peers of a Fabric channel signed: no key that a service publishes judges it. */
const isByPeers = (bytes: Uint8Array): boolean => sortFile({ name: 'proof', bytes }).is === 'fabric';

/** The keys that the ledger peer publishes; a proof can be saved and checked elsewhere without them. */
async function publishedKeys(bytes: Uint8Array, signal: AbortSignal): Promise<{ logKeys: string; note?: string }> {
  if (isByPeers(bytes)) return { logKeys: '' };
  try {
    return { logKeys: await publicLogKeys(notesIn([{ name: 'proof', bytes }]), signal) };
  } catch (error) {
    if (!(error instanceof ProblemError)) throw error;
    const note = texts.publishedKeysUnread(error.message);
    return { logKeys: '', note };
  }
}

async function checkOne(name: string, bytes: Uint8Array, pins: Partial<Pins>): Promise<Checked> {
  const [checked] = await checkFiles([{ name, bytes }], { ...noPins, ...pins });
  return checked ?? { kind: 'unreadable', name, why: texts.thereIsNothingToCheck };
}

/** The proof of a record, by the admin listener of a surface with ledger routes. Throws ProblemError, as all below. */
export async function recordProof(surface: LedgerSurface, place: RecordPlace, signal: AbortSignal): Promise<Proven> {
  const [channel, id] = [place.channel, place.id].map(encodeURIComponent);
  const path = `/admin/${surface}/admin/v1/ledger/channels/${channel}/records/${id}`;
  const [proof, content] = await Promise.all([bytesOf(`${path}/proof`, { signal }), bytesOf(path, { signal })]);
  const logKeys = isByPeers(proof) ? '' : await adminLogKeys(surface, signal);
  const bytes = besideContent(proof, content);
  return { bytes, checked: await checkOne('proof', bytes, { logKeys }) };
}

/** Builds `{receipt, proof, record}` by concatenation. */
function besideContent(proof: Uint8Array, record: Uint8Array): Uint8Array {
  const text = new TextDecoder().decode(proof).trimEnd();
  const content = new TextDecoder().decode(record);
  return new TextEncoder().encode(`${text.slice(0, text.lastIndexOf('}'))},"record":${content}}`);
}

/** What an event, or the delivery that it is of, wrote: its first record. */
export async function eventProof(eventId: string, signal: AbortSignal): Promise<Proven> {
  const { data } = await server.GET('/admin/ingest-gateway/admin/v1/events/{eventId}', {
    params: { path: { eventId } },
    signal,
  });
  const { records } = data!;
  const [first] = records;
  if (first === undefined) throw noProof(texts.nothingToProve);
  const proven = await recordProof('ingest-gateway', first, signal);
  const count = records.length;
  return count === 1 ? proven : { ...proven, note: texts.firstOfRecords(count) };
}

/** The fingerprint of evidence, for every role that reads it. */
export async function evidenceProof(orgId: string, id: string, signal: AbortSignal): Promise<Proven> {
  const path = `/api/risk-partner/api/evidence/${encodeURIComponent(id)}/proof`;
  const bytes = await bytesOf(path, { signal, headers: { 'X-Organization': orgId } });
  const { logKeys, ...told } = await publishedKeys(bytes, signal);
  return { bytes, checked: await checkOne('proof', bytes, { logKeys }), ...told };
}

/** A decision of the gate, and what links it to the head of its chain in the ledger. */
export async function decisionProof(decisionId: string, signal: AbortSignal): Promise<Proven> {
  const bytes = await bytesOf(`/admin/case-gate/admin/v1/decisions/${encodeURIComponent(decisionId)}/proof`, {
    signal,
  });
  const { logKeys, note } = await publishedKeys(bytes, signal);
  const others = texts.laterDecisionsAreInTheProof;
  return { bytes, checked: await checkOne('proof', bytes, { logKeys }), note: note ?? others };
}

type Members = { readonly [member: string]: JsonValue };

/** A seal of a case in the ledger, and the signed pack that has it. */
export async function caseProof({ packPath, sealHash }: SealedCase, signal: AbortSignal): Promise<Proven> {
  const packed = await bytesOf(packPath, { signal, headers: { Accept: 'application/json' } });
  const { seals } = parseStrict(packed) as { readonly [member: string]: JsonValue };
  // As the service describes it.
  const seal = (seals as readonly Members[]).findLast(
    ({ proof, seal_hash }) => proof !== null && (sealHash === undefined || seal_hash === sealHash),
  );
  if (seal === undefined) throw noProof(texts.packHasNoProof);
  const { receipt, proof } = seal['proof'] as Members;
  const file = canonical({ receipt: receipt!, proof: proof!, record: { data: seal['document']! } });
  const bytes = new TextEncoder().encode(file);
  const { logKeys, note, checked: pack } = await checkedPack(packed, isByPeers(bytes), signal);
  const checked = await checkOne('proof', bytes, { logKeys });
  return {
    bytes,
    checked,
    pack,
    note: note ?? texts.proofComesWithThePack,
  };
}

/** A pack checked by the keys that the ledger, if its seals are in a log, and the case gate publish. */
async function checkedPack(packed: Uint8Array, isOnFabric: boolean, signal: AbortSignal) {
  const [{ logKeys, note }, jwks] = await Promise.all([
    isOnFabric ? { logKeys: '', note: undefined } : publishedKeys(packed, signal),
    // Without them, the report of the pack says that its author is unknown.
    keySetText('case-gate', signal).catch(() => ''),
  ]);
  return { logKeys, note, checked: await checkOne('pack', packed, { logKeys, jwks }) };
}

export interface ReadPack {
  /** As the service sent them: its signature is over these. */
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly pack: AssessorPack;
  /** Undefined for a draft: nothing of it is in a ledger. */
  readonly checked: Checked | undefined;
  readonly note?: string | undefined;
}

/** The pack of a case, read and checked in this browser. Each read is an export, and in the audit. Throws ProblemError. */
export async function readPack(packPath: string, signal: AbortSignal): Promise<ReadPack> {
  const bytes = await bytesOf(packPath, { signal, headers: { Accept: 'application/json' } });
  const pack = parseStrict(bytes) as unknown as AssessorPack; // As the service describes it.
  if (pack.seals.length === 0) return { bytes, pack, checked: undefined };
  const isOnFabric = pack.seals.every(({ proof }) => isFabricProof(proof as JsonValue));
  const { checked, note } = await checkedPack(bytes, isOnFabric, signal);
  return { bytes, pack, checked, note };
}
