import {
  type Declaration,
  DECLARATION_TYPE,
  declarationLeaf,
  logName,
  type LostEntries,
  type Receipt,
} from '@sealgate/envelope';
import type { JsonValue } from '@sealgate/json';
import { type Checkpoint, type NoteVerifier, rootFromInclusion } from '@sealgate/merkle';
import { entryCount, type Report, type Reporter, startReport } from './report.ts';
import {
  hashBytes,
  hasMember,
  isObject,
  listAt,
  numberAt,
  objectAt,
  type Place,
  rootObject,
  stringAt,
  stringOrNullAt,
  stringsAt,
  UnreadableError,
} from './shape.ts';
import { type NoteInput, openCheckpoint } from './signed-checkpoint.ts';

/** A declared loss with its proof as entry 0 of its log. */
interface StatedDeclaration {
  readonly where: string;
  readonly statement: Declaration;
  readonly inclusionPath: readonly string[];
}

/** The ledger peer's response for an epoch, with the checkpoint of the proof. */
export interface DeclarationFile extends StatedDeclaration {
  readonly treeSize: number;
  readonly checkpoint: string;
}

/**
 * Parses the ledger peer's declaration of an epoch, or a proof of a record of it, which includes the declaration.
 * @throws UnreadableError if a member is missing or of another type.
 */
export function readDeclarationFile(name: string, value: JsonValue): DeclarationFile {
  const file = rootObject(name, value);
  if (hasMember(file, 'proof')) {
    const proof = objectAt(file, 'proof');
    return proved(readDeclaration(objectAt(proof, 'declaration')), proof);
  }
  return proved(readDeclaration(file), file);
}

function proved(stated: StatedDeclaration, under: Place): DeclarationFile {
  return { ...stated, treeSize: numberAt(under, 'treeSize'), checkpoint: stringAt(under, 'checkpoint') };
}

/** @throws UnreadableError as above. */
export function readDeclaration(place: Place): StatedDeclaration {
  const statement = objectAt(place, 'statement');
  return {
    where: statement.where,
    statement: readStatement(statement),
    inclusionPath: stringsAt(place, 'inclusionPath'),
  };
}

function readStatement(place: Place): Declaration {
  if (stringAt(place, 'type') !== DECLARATION_TYPE)
    throw new UnreadableError(`${place.where}/type is not ${DECLARATION_TYPE}.`);
  const lost = listAt(place, 'lost').map((value, position) => {
    const where = `${place.where}/lost/${position}`;
    if (!isObject(value)) throw new UnreadableError(`${where} is not an object.`);
    return readLost({ where, object: value });
  });
  return {
    type: DECLARATION_TYPE,
    network: stringAt(place, 'network'),
    channel: stringAt(place, 'channel'),
    epoch: numberAt(place, 'epoch'),
    origin: stringAt(place, 'origin'),
    lost,
    reason: stringAt(place, 'reason'),
    actor: stringAt(place, 'actor'),
    at: stringAt(place, 'at'),
  };
}

function readLost(place: Place): LostEntries {
  return {
    epoch: numberAt(place, 'epoch'),
    lostFrom: numberAt(place, 'lostFrom'),
    lostUntil: numberAt(place, 'lostUntil'),
    checkpoint: stringAt(place, 'checkpoint'),
    surviving: stringOrNullAt(place, 'surviving'),
  };
}

/** Checks that a log begins with this declaration, under an already checked checkpoint of that log. */
export function reportDeclaration(
  report: Reporter,
  { where, statement, inclusionPath }: StatedDeclaration,
  checkpoint: Checkpoint | undefined,
): void {
  if (checkpoint === undefined) return report.skipped('declaration', 'There is no checkpoint.');
  const path = inclusionPath.map(hashBytes).filter((hash) => hash !== undefined);
  const { size, root, origin } = checkpoint;
  const found = rootFromInclusion({ leafHash: declarationLeaf(statement), index: 0, size, path });
  const isWhole = path.length === inclusionPath.length && found?.equals(root) === true;
  if (!isWhole) {
    const detail = 'The statement is not the first entry of this log: it, the path or the checkpoint was changed.';
    return report.failed('declaration', { detail, where });
  }
  report.equal('declaration', {
    ok: `The log ${origin} begins with the declaration of ${statement.at} by ${statement.actor}.`,
    failed: 'The declaration is of another log.',
    where: `${where}/origin`,
    expected: origin,
    found: statement.origin,
  });
}

/**
 * Checks a declared loss on its own: that the log of its epoch begins with it, and the stated end of each earlier log.
 * Never throws for the content of the file.
 */
export function checkDeclaration({ file, verifier }: Pick<LossInput, 'file' | 'verifier'>): Report {
  const report = startReport();
  const { statement, where } = file;
  const { channel, epoch, lost } = statement;
  const declared = openCheckpoint(report, noteOf(file), { verifier, channel: logName(channel, epoch) });
  reportDeclaration(report, file, declared);
  for (const [position, entries] of lost.entries()) {
    const end = { where: `${where}/lost/${position}`, lost: entries, checkpoint: undefined };
    checkEnd(report, end, { verifier, log: logName(channel, entries.epoch) });
  }
  report.note('What became of one record shows beside its proof ("receipt --declaration").');
  const gone = lost.map(
    ({ epoch: of, lostFrom, lostUntil }) => `entries ${lostFrom} to ${lostUntil - 1} of ${logName(channel, of)}`,
  );
  return report.finish(
    `On ${statement.at} ${statement.actor} declared lost: ${gone.join(', ') || 'nothing'}. ${statement.reason}`,
  );
}

/** The checkpoint of a declaration's proof. */
function noteOf({ where, checkpoint }: DeclarationFile): NoteInput {
  return { note: checkpoint, where: `${where.replace(/#.*$/, '')}#/checkpoint` };
}

interface LossInput {
  readonly file: DeclarationFile;
  readonly verifier: NoteVerifier;
  /** A receipt, and the checkpoint of its proof. */
  readonly receipt: Receipt;
  readonly checkpoint: Checkpoint | undefined;
  /** The declaration of the receipt's own log, if it is of a later epoch. */
  readonly own: Declaration | undefined;
}

/**
 * Checks a declaration and what it means for a receipt of an earlier log. Returns the proved sentence if nothing
 * failed.
 */
export function reportLoss(report: Reporter, { file, verifier, receipt, checkpoint, own }: LossInput): string {
  const { statement } = file;
  const { channel, epoch = 0, index } = receipt;
  const log = logName(statement.channel, statement.epoch);
  const declared = openCheckpoint(report, noteOf(file), { verifier, channel: log, prefix: 'declaration ' });
  reportDeclaration(report, file, declared);
  if (statement.channel === channel && statement.epoch === epoch) {
    report.equal('loss', {
      ok: `The receipt is of the log ${log}, which begins with this declaration.`,
      failed: 'A fork: the log of the receipt begins with another declaration. Keep both: together they prove it.',
      where: file.where,
      expected: own === undefined ? 'none' : declarationLeaf(own).toString('hex'),
      found: declarationLeaf(statement).toString('hex'),
    });
    return `It is not among what was declared lost: it comes after the declaration of ${statement.at}.`;
  }
  const lost = statement.lost.find((entries) => entries.epoch === epoch);
  if (statement.channel !== channel || lost === undefined) {
    report.failed('loss', {
      detail: 'The declaration says nothing of the log that the receipt is of.',
      where: file.where,
      expected: logName(channel, epoch),
      found: statement.lost.map((entries) => logName(statement.channel, entries.epoch)).join(', '),
    });
    return '';
  }
  checkEnd(report, { where: `${file.where}/lost`, lost, checkpoint }, { verifier, log: logName(channel, epoch) });
  const { lostFrom, lostUntil } = lost;
  const by = `on ${statement.at} by ${statement.actor} in epoch ${statement.epoch}: ${statement.reason}`;
  if (index < lostFrom) {
    return `It is not among what was lost: of this log entries ${lostFrom} to ${lostUntil - 1} were declared ${by}`;
  }
  if (index < lostUntil) return `It was acknowledged and signed for, and then lost; declared ${by}`;
  return `This log ended with ${entryCount(lostUntil)}: entry ${index} was never signed for in it; declared ${by}`;
}

interface End {
  readonly where: string;
  readonly lost: LostEntries;
  /** The checkpoint of the receipt's own proof. */
  readonly checkpoint: Checkpoint | undefined;
}

/** The stated last checkpoint of the old log must be of that log, and not smaller than the one of the proof. */
function checkEnd(
  report: Reporter,
  { where, lost, checkpoint }: End,
  { verifier, log }: { readonly verifier: NoteVerifier; readonly log: string },
): void {
  const last = openCheckpoint(report, { note: lost.checkpoint, where }, { verifier, channel: log, prefix: 'last ' });
  if (last === undefined) return;
  report.equal('loss', {
    ok: `The old log was signed for up to ${entryCount(last.size)}.`,
    failed: 'The declaration says another end of the old log than its last checkpoint.',
    where: `${where}/lostUntil`,
    expected: last.size,
    found: lost.lostUntil,
  });
  if (checkpoint === undefined) return;
  const isFork = checkpoint.size === last.size && !checkpoint.root.equals(last.root);
  if (checkpoint.size <= last.size && !isFork) return;
  report.failed('loss', {
    detail: isFork
      ? 'A fork: the checkpoint of the receipt and the last one that was declared have one size and different roots.'
      : 'The log was signed for further than is declared. Keep both: together they prove it.',
    where,
    expected: `at least ${entryCount(checkpoint.size)}`,
    found: entryCount(last.size),
  });
}
