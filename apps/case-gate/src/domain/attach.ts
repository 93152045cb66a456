import { AppError } from '@sealgate/errors';
import { escapePointer, type JsonValue } from '@sealgate/json';
import type { Attachment, CaseRecord, NewAttachment } from './case-record.ts';
import { isOpen, move, invalidTransition } from './case-states.ts';
import type { CaseTransaction } from './case-transaction.ts';
import type { RecordOf } from './model.ts';

/** Maximum attachments of one case. */
const MAX_ATTACHMENTS = 1000;

interface AttachOrder {
  readonly attachments: readonly RecordOf<typeof NewAttachment>[];
  readonly actor: string;
  readonly at: Date;
  readonly newId: (prefix: string) => string;
}

export interface Attached {
  readonly record: CaseRecord;
  /** One for each that was sent, in that order. */
  readonly attachments: readonly Attachment[];
  /** False: all of them existed. */
  readonly added: boolean;
}

/**
 * Adds references to a case. A known reference with the same hash is the existing attachment.
 * @throws AppError INVALID_STATE_TRANSITION, ATTACHMENT_CONFLICT, LIMIT_REACHED; then nothing is added.
 */
export async function attach(tx: CaseTransaction, record: CaseRecord, order: AttachOrder): Promise<Attached> {
  const { attachments, actor, at, newId } = order;
  if (!isOpen(record.status)) throw invalidTransition(record.status);
  const known = await tx.attachmentsWith(
    record.case_id,
    attachments.map(({ ref }) => ref),
  );
  const byRef = new Map(known.map((attachment) => [attachment.ref, attachment]));
  const fresh: Attachment[] = [];
  const answered = attachments.map((given, index) => {
    const there = byRef.get(given.ref);
    if (there === undefined) {
      const made = { attachment_id: newId('att_'), ...given, label: given.label ?? null };
      byRef.set(given.ref, made);
      fresh.push(made);
      return made;
    }
    if (there.sha256 !== given.sha256) throw conflict(index);
    return there;
  });
  if (fresh.length === 0) return { record, attachments: answered, added: false };
  const count = record.attachment_count + fresh.length;
  if (count > MAX_ATTACHMENTS) {
    throw new AppError('LIMIT_REACHED', `A case has at most ${MAX_ATTACHMENTS} attachments.`);
  }
  await tx.insertAttachments(record.case_id, fresh, at);
  const status = record.status === 'received' ? move('received', 'in_review') : record.status;
  const next = { ...record, status, attachment_count: count, updated_at: at.toISOString() };
  await tx.saveCase(next);
  const data = {
    status,
    attachments: fresh.map(({ attachment_id, sha256 }) => ({ attachment_id, sha256 })),
  };
  await tx.addEvent(record.case_id, { event: 'case.attached', actor, at, data });
  return { record: next, attachments: answered, added: true };
}

function conflict(index: number): AppError {
  return new AppError('ATTACHMENT_CONFLICT', 'The reference exists with another hash.', {
    faults: [{ in: 'body', pointer: `/attachments/${index}/sha256`, detail: 'Another hash is known for this ref.' }],
  });
}

/** Members that contain bytes, in lower case. */
const INLINE_MEMBERS: ReadonlySet<string> = new Set(['data', 'content', 'bytes', 'base64', 'body', 'file']);
const DATA_URI = /^\s*data:/i;

/**
 * Refuses a request that contains bytes instead of a vault reference: in a member of such a name, in any case and at
 * any depth, or as a `data:` URI. Strict JSON bounds the depth.
 * @throws AppError VAULT_BYTES_NOT_ALLOWED, with a pointer to each.
 */
export function refuseVaultBytes(body: JsonValue): void {
  const pointers: string[] = [];
  walk(body, '', pointers);
  if (pointers.length === 0) return;
  throw new AppError('VAULT_BYTES_NOT_ALLOWED', 'Bytes stay in the vault: send a reference and a hash.', {
    faults: pointers.map((pointer) => ({ in: 'body', pointer, detail: 'Bytes are not accepted here.' })),
  });
}

/** Limit of reported faults. */
const MAX_FAULTS = 100;

function walk(value: JsonValue, pointer: string, found: string[]): void {
  if (found.length >= MAX_FAULTS) return;
  if (typeof value === 'string') {
    if (DATA_URI.test(value)) found.push(pointer);
    return;
  }
  if (typeof value !== 'object' || value === null) return;
  if (Array.isArray(value)) {
    value.forEach((item, index) => walk(item, `${pointer}/${index}`, found));
    return;
  }
  for (const [name, member] of Object.entries(value)) {
    const place = `${pointer}/${escapePointer(name)}`;
    if (INLINE_MEMBERS.has(name.toLowerCase())) found.push(place);
    else walk(member, place, found);
  }
}
