import { AppError } from '@sealgate/errors';
import type { Attachment, CaseRecord, NewAttachment } from './case-record.ts';
import { isOpen, move, notNow } from './case-states.ts';
import type { CaseTransaction } from './case-transaction.ts';

/** Attachments of one case, over all requests. */
const MOST_ATTACHMENTS = 1000;

export interface AttachOrder {
  readonly attachments: readonly NewAttachment[];
  readonly actor: string;
  readonly at: Date;
  readonly newId: (prefix: string) => string;
}

export interface Attached {
  readonly record: CaseRecord;
  /** One for each that was sent, in that order. */
  readonly attachments: readonly Attachment[];
  /** False: all were there before. */
  readonly added: boolean;
}

/**
 * Adds references to a case. A reference with the same hash is the attachment that is there already.
 * @throws AppError INVALID_STATE_TRANSITION, ATTACHMENT_CONFLICT, LIMIT_REACHED; then nothing is added.
 */
export async function attach(tx: CaseTransaction, record: CaseRecord, order: AttachOrder): Promise<Attached> {
  const { attachments, actor, at, newId } = order;
  if (!isOpen(record.status)) throw notNow(record.status);
  const known = await tx.attachmentsWith(
    record.caseId,
    attachments.map(({ ref }) => ref),
  );
  const byRef = new Map(known.map((attachment) => [attachment.ref, attachment]));
  const fresh: Attachment[] = [];
  const answered = attachments.map((given, index) => {
    const there = byRef.get(given.ref);
    if (there === undefined) {
      const made = { ...given, attachmentId: newId('att_') };
      byRef.set(given.ref, made);
      fresh.push(made);
      return made;
    }
    if (there.sha256 !== given.sha256) throw conflict(index);
    return there;
  });
  if (fresh.length === 0) return { record, attachments: answered, added: false };
  const count = record.attachmentCount + fresh.length;
  if (count > MOST_ATTACHMENTS) {
    throw new AppError('LIMIT_REACHED', `A case has at most ${MOST_ATTACHMENTS} attachments.`);
  }
  await tx.insertAttachments(record.caseId, fresh, at);
  const status = record.status === 'received' ? move('received', 'in_review') : record.status;
  const next = { ...record, status, attachmentCount: count, updatedAt: at };
  await tx.saveCase(next);
  const data = {
    status,
    attachments: fresh.map(({ attachmentId, sha256 }) => ({ attachment_id: attachmentId, sha256 })),
  };
  await tx.addEvent(record.caseId, { event: 'case.attached', actor, at, data });
  return { record: next, attachments: answered, added: true };
}

function conflict(index: number): AppError {
  return new AppError('ATTACHMENT_CONFLICT', 'The reference is there with another hash.', {
    faults: [{ in: 'body', pointer: `/attachments/${index}/sha256`, detail: 'Another hash is known for this ref.' }],
  });
}
