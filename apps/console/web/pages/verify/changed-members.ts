import { dataHashOf, receiptLeaf, type Receipt } from '@sealgate/envelope';
import { Bytes, canonical, type JsonValue } from '@sealgate/json';
import type { ReceiptFile, Report } from '@sealgate/verify/checks';

/** A member with another value than the one that was signed for. */
export interface ChangedMember {
  /** Its name, below `data` for content: `data/carrier`. */
  readonly member: string;
  /** Undefined if it was not there. */
  readonly signed: string | undefined;
  readonly found: string | undefined;
}

/** The members that the leaf covers. */
const COVERED = ['network', 'channel', 'id', 'type', 'owner', 'dataHash', 'transactionId', 'at'] as const;
/** The steps without which nothing is known to be signed. */
const ROOTED = ['signature', 'origin', 'size', 'inclusion'];
const MAX_SHOWN = 50;

/**
 * The members of a file that somebody changed, with the signed values. A leaf is a hash, so a signed value is known
 * only if the file has it in another place (a receipt beside its record, a proof beside the content).
 */
export function changedMembers(file: ReceiptFile, report: Report, dropped?: JsonValue): readonly ChangedMember[] {
  const isRooted = ROOTED.every((name) => report.steps.some(({ step, status }) => step === name && status === 'ok'));
  if (!isRooted || report.verified) return [];
  return [...inReceipt(file), ...inContent(file, dropped)].slice(0, MAX_SHOWN);
}

/** Receipt and record name other values: those are signed for with which the receipt has the proved leaf. */
function inReceipt({ receipt, proof, contents }: ReceiptFile): ChangedMember[] {
  const isSigned = leafOf(receipt) === proof.leafHash;
  for (const { members } of contents) {
    const others = COVERED.filter(
      (name) => Object.hasOwn(members, name) && textOf(members[name]) !== textOf(receipt[name]),
    );
    if (others.length === 0) continue;
    const stated = Object.fromEntries(others.map((name) => [name, members[name]]));
    if (!isSigned && leafOf({ ...receipt, ...stated }) !== proof.leafHash) continue;
    return others.map((member) => {
      const [ofReceipt, beside] = [textOf(receipt[member]), textOf(members[member])];
      return isSigned ? { member, signed: ofReceipt, found: beside } : { member, signed: beside, found: ofReceipt };
    });
  }
  return [];
}

function leafOf(receipt: Receipt): string | undefined {
  try {
    return receiptLeaf(receipt).toString('hex');
  } catch {
    return undefined; // A value without a canonical form has no leaf.
  }
}

function inContent({ receipt, contents }: ReceiptFile, dropped: JsonValue | undefined): ChangedMember[] {
  const { salt, extra, dataHash } = receipt;
  if (salt === null || !/^[0-9a-f]{64}$/.test(salt)) return [];
  const given = [...(dropped === undefined ? [] : [dropped]), ...contents.map(({ data }) => data)];
  const isWritten = (data: JsonValue) => dataHashOf(Bytes.from(salt, 'hex'), data, extra) === dataHash;
  const written = given.find(isWritten);
  const other = given.find((data) => !isWritten(data));
  return written === undefined || other === undefined ? [] : differences('data', written, other);
}

function differences(at: string, signed: JsonValue | undefined, found: JsonValue | undefined): ChangedMember[] {
  if (textOf(signed) === textOf(found)) return [];
  if (!isBranch(signed) || !isBranch(found) || Array.isArray(signed) !== Array.isArray(found))
    return [{ member: at, signed: textOf(signed), found: textOf(found) }];
  const [before, after] = [new Map(Object.entries(signed)), new Map(Object.entries(found))];
  return [...new Set([...before.keys(), ...after.keys()])].flatMap((name) =>
    differences(`${at}/${name}`, before.get(name), after.get(name)),
  );
}

const isBranch = (value: JsonValue | undefined): value is { [member: string]: JsonValue } | JsonValue[] =>
  typeof value === 'object' && value !== null;

/** A text as it is, everything else as JSON. */
export function textOf(value: JsonValue | undefined): string | undefined {
  return value === undefined || typeof value === 'string' ? value : canonical(value);
}
