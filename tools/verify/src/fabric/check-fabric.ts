import { AppError } from '@sealgate/errors';
import { Bytes, canonical, type JsonValue, parseStrict, sha256 } from '@sealgate/json';
import { type Report, type Reporter, startReport } from '../report.ts';
import { isObject } from '../shape.ts';
import { type AttestedAnswer, checkAttested, checkCreator, type ExpectedCall, parsed } from './check-attested.ts';
import { signatureFault } from './ecdsa.ts';
import {
  type ProcessedTransaction,
  readBlock,
  readProcessedTransaction,
  versionRead,
  writesOf,
} from './fabric-messages.ts';
import { identify, isSatisfied, type Member } from './member.ts';
import { checkContent, checkStated, type GivenContent, type SignedRecord } from './check-stated.ts';
import type { FabricProofFile } from './proof-file.ts';
import type { ChannelTrust } from './trust-file.ts';
import { MalformedMessageError } from './wire-message.ts';

interface FabricInput {
  readonly file: FabricProofFile;
  readonly trust: ChannelTrust;
  /** What the sender says that the record holds, if it should be checked. */
  readonly content?: GivenContent | undefined;
}

const VALID = 0;

/**
 * Checks a proof of a record on Fabric: that peers of the pinned organisations signed that the record is in the channel,
 * valid, by its transaction. Never throws for the content of the file; continues after a failure.
 */
export async function checkFabric({ file, trust, content }: FabricInput): Promise<Report> {
  const report = startReport();
  report.equal('channel', {
    ok: `The proof is of the pinned channel ${trust.channel}.`,
    failed: 'The proof is of another channel than the trust file.',
    where: `${file.where}/channel`,
    expected: trust.channel,
    found: file.channel,
  });
  const policy = trust.policies.get(file.chaincode);
  if (policy === undefined)
    report.failed('chaincode', {
      detail: 'The trust file has no policy of the chaincode.',
      where: `${file.where}/chaincode`,
      expected: [...trust.policies.keys()].join(', '),
      found: file.chaincode,
    });
  const checked = { trust, policy };
  const view = await checkAttested(report, checked, file.view, viewCall(file, trust));
  const statement = await checkAttested(report, checked, file.statement, statementCall(file, trust));
  const record = view && readRecord(report, file, view);
  const transaction = statement && (await checkTransaction(report, { file, trust }, statement));
  if (record !== undefined && transaction !== undefined) checkWrite(report, file, record, transaction);
  if (record !== undefined) checkStated(report, file, record);
  if (record !== undefined && content !== undefined) checkContent(report, content, record);
  if (transaction !== undefined && file.block !== undefined) {
    const version = record && view && versionRead(view.response.readWriteSet, file.chaincode, headKey(record.id));
    checkBlock(report, file, { transaction, number: version?.block });
  }
  if (transaction !== undefined) await noteEndorsers(report, { file, trust }, transaction);
  report.note('It does not prove when that was, that there is nothing else, or that the channel has no fork.');
  return report.finish(conclusion(file, { record, view }));
}

function conclusion(
  { channel, chaincode }: FabricProofFile,
  { record, view }: { readonly record: SignedRecord | undefined; readonly view: AttestedAnswer | undefined },
): string {
  if (record === undefined || view === undefined) return '';
  const signers = [...new Set(view.signers.map(({ mspId }) => mspId))].join(' and ');
  const key = headKey(record.id);
  const version = versionRead(view.response.readWriteSet, chaincode, key);
  const block = version === undefined ? '' : ` in block ${version.block}`;
  return (
    `Peers of ${signers} signed that record ${record.id} (version ${record.version}) is in the channel ${channel}, ` +
    `valid, by transaction ${record.transactionId}${block}.`
  );
}

function viewCall({ chaincode }: FabricProofFile, { channel }: ChannelTrust): ExpectedCall {
  const expected = (args: readonly string[]) => {
    // A named contract of the chaincode is a prefix of the function.
    const isRead = /^(?:[^:]+:)?read$/.test(args[0] ?? '');
    return isRead && args.length === 2 ? undefined : 'read <id>';
  };
  return { name: 'view', channel, chaincode, expected };
}

function statementCall({ statement: { transactionId } }: FabricProofFile, { channel }: ChannelTrust): ExpectedCall {
  const wanted = ['GetTransactionByID', channel, transactionId];
  const expected = (args: readonly string[]) =>
    args.length === wanted.length && args.every((arg, at) => arg === wanted[at]) ? undefined : wanted.join(' ');
  return { name: 'statement', channel, chaincode: 'qscc', expected };
}

function readRecord(
  report: Reporter,
  { view, statement }: FabricProofFile,
  { proposal, response }: AttestedAnswer,
): SignedRecord | undefined {
  const where = `${view.where}/responses/0/payload`;
  const record = recordIn(response.result);
  if (record === undefined) {
    report.failed('record', { detail: 'The contract returned no record.', where });
    return undefined;
  }
  const { all } = record;
  const content = {
    type: record.type,
    owner: all['owner'] ?? null,
    data: all['data'] ?? null,
    extra: all['extra'] ?? null,
  };
  const faults = [
    ...(proposal.args[1]?.toString('utf8') === record.id ? [] : ['is not the one that was asked for']),
    ...(sha256(canonical(content)).toString('hex') === record.contentHash ? [] : ['does not have its content hash']),
    ...(record.transactionId === statement.transactionId ? [] : ['is not of the transaction of the statement']),
  ];
  if (faults.length === 0) report.ok('record', `The record ${record.id} has its content hash ${record.contentHash}.`);
  else report.failed('record', { detail: `The record ${record.id} ${faults.join(', and ')}.`, where });
  return record;
}

function recordIn(bytes: Bytes): SignedRecord | undefined {
  const all = jsonIn(bytes);
  if (!isObject(all)) return undefined;
  const { id, type, contentHash, transactionId, version } = all;
  const isRecord =
    typeof id === 'string' &&
    typeof type === 'string' &&
    typeof contentHash === 'string' &&
    typeof transactionId === 'string' &&
    typeof version === 'number';
  return isRecord ? { id, type, contentHash, transactionId, version, all } : undefined;
}

/** Undefined for bytes that are no strict JSON. */
function jsonIn(bytes: Uint8Array): JsonValue | undefined {
  try {
    return parseStrict(bytes);
  } catch (error) {
    if (error instanceof AppError) return undefined;
    throw error;
  }
}

/** The transaction that the peers have, with its code: that it is the right one, by a member, and valid. */
async function checkTransaction(
  report: Reporter,
  { file, trust }: FabricInput,
  { response }: AttestedAnswer,
): Promise<ProcessedTransaction | undefined> {
  const where = `${file.statement.where}/responses/0/payload`;
  const read = () => readProcessedTransaction(response.result);
  const transaction = parsed(report, { step: 'transaction', where }, read);
  if (transaction === undefined) return undefined;
  const { header } = transaction;
  report.equal('channel', {
    ok: `The transaction is of the channel ${trust.channel}.`,
    failed: 'The transaction is of another channel.',
    where,
    expected: trust.channel,
    found: header.channel,
  });
  report.equal('transaction', {
    ok: `The peers have the transaction ${header.transactionId}.`,
    failed: 'The peers signed another transaction.',
    where,
    expected: file.statement.transactionId,
    found: header.transactionId,
  });
  report.equal('validation', {
    ok: 'The peers found the transaction valid.',
    failed: 'The peers found the transaction invalid: it is in the channel without effect.',
    where,
    expected: VALID,
    found: transaction.code,
  });
  const creator = await checkCreator(report, { trust, where, what: 'The transaction' }, transaction);
  if (creator !== undefined && creator.revoked.length > 0)
    report.note(
      `The certificate of its creator, ${creator.certificate.subject} of ${creator.mspId}, is revoked by now.`,
    );
  return transaction;
}

const hex = (text: string): string => Bytes.from(text, 'utf8').toString('hex');
/** Keys of the world state of the contract: see its README. */
const headKey = (id: string): string => `i/${hex(id)}`;
const recordKey = ({ type, id }: SignedRecord): string => `r/${hex(type)}/${hex(id)}`;

/** The transaction writes this record, with this content hash. */
function checkWrite(
  report: Reporter,
  { chaincode, statement }: FabricProofFile,
  record: SignedRecord,
  { response }: ProcessedTransaction,
): void {
  const where = `${statement.where}/responses/0/payload`;
  const writes = parsed(report, { step: 'write', where }, () => writesOf(response.readWriteSet, chaincode));
  if (writes === undefined) return;
  const written = [headKey(record.id), recordKey(record)].map((key) => jsonIn(writes.get(key) ?? Bytes.from('')));
  const isWritten = written.every(
    (value) =>
      isObject(value) &&
      value['contentHash'] === record.contentHash &&
      value['transactionId'] === record.transactionId &&
      value['version'] === record.version,
  );
  if (isWritten) report.ok('write', 'The transaction writes the record with this hash.');
  else
    report.failed('write', {
      detail: 'The transaction does not write the record with this hash.',
      where,
      expected: record.contentHash,
      found: hashesOf(written),
    });
}

const hashesOf = (written: readonly (JsonValue | undefined)[]): string =>
  written.map((value) => (isObject(value) ? String(value['contentHash']) : 'nothing')).join(', ');

/** The block holds the transaction, has the number that the record was read from, and the code that the peers signed. */
function checkBlock(
  report: Reporter,
  { where: root, block: bytes }: FabricProofFile,
  { transaction: found, number }: { readonly transaction: ProcessedTransaction; readonly number: number | undefined },
): void {
  const where = `${root}/block`;
  const block = parsed(report, { step: 'block', where }, () => readBlock(bytes!));
  if (block === undefined) return;
  const at = block.data.findIndex((data) => data.equals(found.envelope));
  const faults = [
    ...(at < 0 ? ['does not have the transaction'] : []),
    ...(sha256(Bytes.concat(block.data)).toString('hex') === block.dataHash ? [] : ['has other data than its header']),
    ...(at < 0 || block.codes[at] === found.code ? [] : ['has another code for it']),
    ...(number === undefined || block.number === number
      ? []
      : [`is not block ${number}, from which the record was read`]),
  ];
  if (faults.length > 0) return report.failed('block', { detail: `The block ${faults.join(', and ')}.`, where });
  report.ok(
    'block',
    `The transaction is at place ${at} of block ${block.number}, with ${block.data.length - 1} others.`,
  );
  report.note('The header of the block is signed by orderers, whom the trust file does not name: that is not checked.');
}

/**
 * Who endorsed the transaction when it was written. The peers vouch that it satisfied the policy of its time, which may
 * be another one than that of the trust file: so this refuses nothing.
 */
async function noteEndorsers(
  report: Reporter,
  { file, trust }: FabricInput,
  transaction: ProcessedTransaction,
): Promise<void> {
  const policy = trust.policies.get(file.chaincode);
  const members: Member[] = [];
  for (const { endorser, signature } of transaction.endorsements) {
    const member = await identify(trust, endorser).catch((error: unknown) => {
      if (error instanceof MalformedMessageError) return { problem: error.message };
      throw error;
    });
    if ('problem' in member) continue;
    const signed = new Uint8Array(Bytes.concat([transaction.payload, endorser]));
    if ((await signatureFault(member.certificate, signed, signature)) === undefined) members.push(member);
  }
  const names = members.map(({ mspId }) => mspId).join(', ') || 'nobody that the trust file names';
  const isEnough = policy !== undefined && isSatisfied(policy, members);
  report.note(
    `The transaction was endorsed by ${names}${isEnough ? '' : ', which would not satisfy the policy of the trust file'}.`,
  );
}
