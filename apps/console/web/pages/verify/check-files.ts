import type { EligibilityDocument, PartnerEnvelope } from '@sealgate/envelope';
import { sha256, type JsonValue } from '@sealgate/json';
import { settleSignatures } from '@sealgate/merkle';
import {
  UnreadableError,
  checkAnswer,
  checkCheckpoint,
  checkConsistency,
  checkDecision,
  checkDeclaration,
  checkDelivery,
  checkEligibility,
  checkEnvelope,
  checkLogProof,
  checkPack,
  checkReceipt,
  checkSigned,
  checkpointIn,
  policyFrom,
  type Connection,
  type DecisionFile,
  type FabricProofFile,
  type PeersReports,
  type ReceiptFile,
  type Report,
} from '@sealgate/verify/checks';
import {
  NoKeyError,
  jwksOf,
  pinnedVerifier,
  policyOf,
  requiredVerifier,
  senderKeysOf,
  signatureOf,
  type Pins,
} from './pins.ts';
import { proofsByPeers, readTrust, recordByPeers, sealsByPeers } from './fabric-trust.ts';
import * as texts from './file-texts.ts';
import { sortFile, type NamedFile, type Sorted } from './sort-file.ts';

type Kind =
  | 'receipt'
  | 'proof'
  | 'answer'
  | 'checkpoint'
  | 'consistency'
  | 'decision'
  | 'declaration'
  | 'envelope'
  | 'eligibility'
  | 'fabric'
  | 'pack'
  | 'delivery'
  | 'signed';

/** The dropped files by type, and the results of the checks. */
export type Checked =
  | {
      readonly kind: Kind;
      readonly name: string;
      readonly report: Report;
      readonly receipt?: ReceiptFile;
      /** Content that was given beside the receipt. */
      readonly dropped?: JsonValue;
      readonly decision?: DecisionFile;
    }
  | { readonly kind: 'keys'; readonly name: string; readonly text: string }
  | { readonly kind: 'policy'; readonly name: string; readonly text: string }
  | { readonly kind: 'trust'; readonly name: string; readonly text: string }
  | { readonly kind: 'unreadable'; readonly name: string; readonly why: string }
  | {
      readonly kind: 'unkeyed';
      readonly name: string;
      readonly why: string;
      readonly lacks: NoKeyError['lacks'];
      /** What the file says it is about. */
      readonly about?: ReceiptFile;
      /** The proof on Fabric that is to be checked. */
      readonly peers?: FabricProofFile;
    };

/** One check, with the name of its result. */
interface Task {
  readonly name: string;
  readonly about?: ReceiptFile | undefined;
  readonly peers?: FabricProofFile | undefined;
  /** Throws UnreadableError if something needed for the check is missing. */
  readonly judge: () => Promise<Checked>;
}

type Of<Role extends Sorted['is']> = Sorted & { readonly is: Role };

/**
 * Determines types and relations of the files, and checks them in this page only. Never throws because of their
 * content.
 */
export async function checkFiles(files: readonly NamedFile[], pins: Pins): Promise<Checked[]> {
  const sorted = files.map(sortFile);
  const jwks = sorted.findLast((file) => file.is === 'keys')?.jwks ?? pins.jwks;
  const policy = sorted.findLast((file): file is Of<'policy'> => file.is === 'policy')?.text ?? pins.policy;
  const results: Checked[] = [];
  const trust = sorted.findLast((file): file is Of<'trust'> => file.is === 'trust')?.text ?? pins.trust;
  for (const { name, about, peers, judge } of tasksOf(sorted, { ...pins, jwks, policy, trust })) {
    try {
      results.push(await judge());
    } catch (error) {
      if (!(error instanceof Error)) throw error;
      const why = error.message;
      if (error instanceof NoKeyError)
        results.push({
          kind: 'unkeyed',
          name,
          why,
          lacks: error.lacks,
          ...(about && { about }),
          ...(peers && { peers }),
        });
      else results.push({ kind: 'unreadable', name, why });
    }
  }
  return results;
}

function tasksOf(sorted: readonly Sorted[], pins: Pins): Task[] {
  const of = <Role extends Sorted['is']>(role: Role) => sorted.filter((file): file is Of<Role> => file.is === role);
  const [receipts, answers, declarations, others] = [of('receipt'), of('answer'), of('declaration'), of('other')];
  const delivered = [...of('record'), ...receipts].filter(({ bodySha256 }) => bodySha256 !== undefined);
  const isBody = delivered.length > 0;
  const content = !isBody && receipts.length === 1 && others.length === 1 ? others[0] : undefined;
  const left = isBody || content?.value !== undefined ? [] : others;
  const acknowledged = (file: ReceiptFile) =>
    answers.find(({ records }) => records.some(({ id, channel }) => isOf(file, id, channel))) ??
    (receipts.length === 1 ? answers[0] : undefined);
  const used = new Set(receipts.map(({ file }) => acknowledged(file)));
  return [
    ...of('keys').map(({ name, jwks }) => ready({ kind: 'keys', name, text: jwks })),
    ...of('policy').map(({ name, text }) => policyTask(name, text)),
    ...of('trust').map(({ name, text }) => trustTask(name, text)),
    ...of('fabric').map((proof) => fabricTask(proof, pins)),
    ...of('log-proof').map(({ name, text }) => logProofTask(name, text, pins)),
    ...receipts.flatMap(({ file }) => receiptTasks(file, { answer: acknowledged(file), content, declarations }, pins)),
    ...answers.filter((answer) => !used.has(answer)).map(({ name }) => refused(name, texts.answerAlone)),
    ...declarations.map((declaration) => declarationTask(declaration, pins)),
    ...checkpointTasks(of('note'), of('path'), pins),
    ...of('decision').map(({ name, file }) =>
      task('decision', name, {
        check: () => checkDecision({ file, verifier: requiredVerifier(pins) }),
        decision: file,
      }),
    ),
    ...of('envelope').map(({ name, envelope }) => envelopeTask(name, envelope, pins)),
    ...of('eligibility').map(({ name, document }) => eligibilityTask(name, document, pins)),
    ...of('pack').map((pack) => packTask(pack, pins)),
    ...(others.length === 0 ? of('record').map(({ name }) => refused(name, texts.recordAlone)) : []),
    ...(isBody && others.length > 0 ? delivered.map((record) => deliveryTask(record, others, pins)) : []),
    ...left.map((other) => signedTask(other, pins)),
    ...of('unreadable').map(({ name, why }) => refused(name, why)),
  ];
}

const ready = (checked: Checked): Task => ({ name: checked.name, judge: () => Promise.resolve(checked) });
const refused = (name: string, why: string): Task => ready({ kind: 'unreadable', name, why });
const isOf = ({ receipt }: ReceiptFile, id: string, channel: string): boolean =>
  receipt.id === id && receipt.channel === channel;

/** Runs a check including its signatures. */
function task(
  kind: Kind,
  name: string,
  {
    check,
    ...shown
  }: {
    readonly check: () => Report;
    readonly receipt?: ReceiptFile;
    readonly dropped?: JsonValue;
    readonly decision?: DecisionFile;
  },
): Task {
  return {
    name,
    about: shown.receipt,
    judge: async () => {
      const report = await settleSignatures(check);
      return { kind, name, report, ...shown };
    },
  };
}

/** An unreadable policy is reported on its own: it is not used. */
const policyTask = (name: string, text: string): Task => ({
  name,
  judge: () => Promise.resolve(policyFrom(text, name)).then((): Checked => ({ kind: 'policy', name, text })),
});

const trustTask = (name: string, text: string): Task => ({
  name,
  judge: () => readTrust(name, text).then((): Checked => ({ kind: 'trust', name, text })),
});

const fabricTask = ({ name, file }: Of<'fabric'>, pins: Pins): Task => ({
  name,
  peers: file,
  judge: async () => ({ kind: 'fabric', name, report: await recordByPeers(file, pins) }),
});

/** Like the command `proof`: uses the logs of the policy, unless a key is pinned. */
function logProofTask(name: string, text: string, pins: Pins): Task {
  const check = (): Report => {
    const policy = policyOf(pins);
    const isNamed = (policy?.logs.length ?? 0) > 0 && pins.logKeys.trim() === '';
    return checkLogProof({ text, where: name, policy, logs: isNamed ? undefined : pinnedVerifier(pins) });
  };
  return task('proof', name, { check });
}

interface Beside {
  readonly answer: Of<'answer'> | undefined;
  readonly content: Of<'other'> | undefined;
  readonly declarations: readonly Of<'declaration'>[];
}

function receiptTasks(file: ReceiptFile, { answer, content, declarations }: Beside, pins: Pins): Task[] {
  const declared = declarations.find((one) => one.file.statement.channel === file.receipt.channel) ?? declarations[0];
  const data = content?.value === undefined ? undefined : { name: content.name, value: content.value };
  const names = [file.name, data?.name, declared?.name].filter((name) => name !== undefined);
  const alone = task('receipt', names.join(', '), {
    check: () => checkReceipt({ file, verifier: requiredVerifier(pins), data, declaration: declared?.file }),
    receipt: file,
    ...(data !== undefined && { dropped: data.value }),
  });
  if (answer === undefined) return [alone];
  const beside = task('answer', `${answer.name}, ${file.name}`, {
    check: () => checkAnswer({ records: answer.records, file, verifier: requiredVerifier(pins) }),
    receipt: file,
  });
  return data === undefined && declared === undefined ? [beside] : [beside, alone];
}

const declarationTask = ({ name, file }: Of<'declaration'>, pins: Pins): Task =>
  task('declaration', name, { check: () => checkDeclaration({ file, verifier: requiredVerifier(pins) }) });

function checkpointTasks(notes: readonly Of<'note'>[], paths: readonly Of<'path'>[], pins: Pins): Task[] {
  const each = notes.map(({ name, note }) =>
    task('checkpoint', name, { check: () => checkCheckpoint({ note, where: name, verifier: requiredVerifier(pins) }) }),
  );
  const pairs = pairsOf(notes, paths.length > 0);
  const useless = pairs.length === 0 ? paths.map(({ name }) => refused(name, texts.pathAlone)) : [];
  return [...each, ...pairs.map(([older, newer]) => pairTask(older, newer, { paths, pins })), ...useless];
}

/**
 * Pairs of adjacent checkpoints of each log, by size; two dropped together with a path belong together, whatever they
 * contain.
 */
function pairsOf(notes: readonly Of<'note'>[], isConnected: boolean): [Of<'note'>, Of<'note'>][] {
  const placed = notes.map((note) => ({ note, origin: checkpointIn(note.note)?.origin, size: sizeOf(note) }));
  const inOrder = placed.toSorted((a, b) => a.size - b.size);
  if (inOrder.length === 2 && isConnected) return [[inOrder[0]!.note, inOrder[1]!.note]];
  return inOrder.flatMap(({ note, origin }, index) => {
    const next = inOrder.slice(index + 1).find((other) => origin !== undefined && other.origin === origin);
    return next === undefined ? [] : [[note, next.note] as [Of<'note'>, Of<'note'>]];
  });
}

const sizeOf = ({ note }: Of<'note'>): number => checkpointIn(note)?.size ?? 0;

function pairTask(
  older: Of<'note'>,
  newer: Of<'note'>,
  { paths, pins }: { readonly paths: readonly Of<'path'>[]; readonly pins: Pins },
): Task {
  const check = (connection: Connection | undefined): Report =>
    checkConsistency({
      older: { note: older.note, where: older.name },
      newer: { note: newer.note, where: newer.name },
      verifier: requiredVerifier(pins),
      connection,
    });
  return task('consistency', [older, newer, ...paths].map(({ name }) => name).join(', '), {
    check: () => {
      // An empty tree, or one of the same size, needs no path.
      if (paths.length === 0 && sizeOf(older) > 0 && sizeOf(older) !== sizeOf(newer))
        throw new UnreadableError(texts.notConnected);
      // Only the trees show which path belongs to which pair.
      const reports = paths.map(({ connection }) => check(connection));
      return reports.find(({ verified }) => verified) ?? reports[0] ?? check(undefined);
    },
  });
}

function envelopeTask(name: string, envelope: PartnerEnvelope, pins: Pins): Task {
  const check = (byPeers?: readonly Report[]): Report => {
    const verifier = pins.logKeys.trim() === '' ? undefined : requiredVerifier(pins);
    return checkEnvelope({ name, envelope, signature: signatureOf(pins), verifier, byPeers });
  };
  if (pins.trust === '') return task('envelope', name, { check });
  return {
    name,
    judge: async () => {
      const byPeers = await proofsByPeers({ name, envelope }, pins);
      return { kind: 'envelope', name, report: await settleSignatures(() => check(byPeers)) };
    },
  };
}

const eligibilityTask = (name: string, document: EligibilityDocument, pins: Pins): Task =>
  task('eligibility', name, { check: () => checkEligibility({ name, document, jwks: jwksOf(pins) }) });

function packTask({ name, file }: Of<'pack'>, pins: Pins): Task {
  const peers = file.seals.find((seal) => seal.peers !== undefined)?.peers;
  const isInLog = peers === undefined || file.seals.some(({ record }) => record !== undefined);
  const check = (byPeers?: PeersReports): Report => {
    const verifier = isInLog ? requiredVerifier(pins) : undefined;
    return checkPack({ file, verifier, byPeers, jwks: jwksOf(pins) });
  };
  if (peers === undefined) return task('pack', name, { check });
  return {
    name,
    judge: async () => {
      const byPeers = await sealsByPeers(file, pins);
      return { kind: 'pack', name, report: await settleSignatures(() => check(byPeers)) };
    },
  };
}

function deliveryTask(record: Of<'record'> | Of<'receipt'>, others: readonly Of<'other'>[], pins: Pins): Task {
  const { name, value, bodySha256 } = record;
  const body = others.find(({ bytes }) => sha256(bytes).toString('hex') === bodySha256) ?? others[0]!;
  const check = (): Report => checkDelivery({ name, value, body: body.bytes, keys: senderKeysOf(pins) });
  return task('delivery', `${name}, ${body.name}`, { check });
}

function signedTask({ name, bytes, why }: Of<'other'>, pins: Pins): Task {
  if (pins.signature.trim() === '' || pins.jwks.trim() === '') return refused(name, why);
  return task('signed', name, { check: () => checkSigned({ name, bytes, signature: signatureOf(pins) }) });
}
