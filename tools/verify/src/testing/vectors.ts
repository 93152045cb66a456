import { documentSigner, generateDocumentKey, jwksOf, receiptLogProof } from '@sealgate/envelope';
import { canonical, type JsonValue } from '@sealgate/json';
import { generateNoteKey, parseNote } from '@sealgate/merkle';
import * as delivery from './sample-delivery.ts';
import * as envelopes from './sample-envelope.ts';
import * as epochs from './sample-epoch.ts';
import { trustFile } from './fabric-members.ts';
import { fabricProof } from './fabric-proofs.ts';
import { sampleLog } from './sample-log.ts';
import * as packs from './sample-pack.ts';
import { witness } from './sample-witness.ts';

/** Files, trusted keys, and the expected failed steps by hand: the same for the command line and for the page. */
export interface Vector {
  readonly title: string;
  /** The dropped files, by name. */
  readonly files: Readonly<Record<string, string>>;
  readonly pins: {
    readonly logKeys?: string;
    /** A C2SP tlog-policy. */
    readonly policy?: string;
    readonly jwks?: string;
    readonly signature?: string;
    readonly senderKeys?: string;
  };
  /** Arguments of sealgate-verify, without the pinned keys. */
  readonly command: readonly [kind: string, ...files: string[]];
  /** Empty if it verifies. */
  readonly failed: readonly string[];
}

const log = sampleLog(20);
const fork = sampleLog(20, { key: log.key, entries: log.entries.slice(0, 4) });
const stranger = sampleLog(1).key.verifierKey;
const logKeys = log.key.verifierKey;
const PROOF = { ...(await log.proofOf(7)), record: { data: log.entries[7]!.data } };
const path = (await log.consistency(5)).map((hash) => hash.toString('hex'));
const { declaration, proof: laterProof } = await epochs.epochOf(epochs.STATEMENT);
const lost = await epochs.log.proofOf(3);
const epochKeys = epochs.log.key.verifierKey;

const text = (value: object): string => JSON.stringify(value);
/** The text with the first character after `marker` changed. */
export function broken(whole: string, marker: string): string {
  const at = whole.indexOf(marker) + marker.length;
  if (at < marker.length) throw new Error(`There is no ${marker}.`);
  return whole.slice(0, at) + (whole[at] === '0' ? '1' : '0') + whole.slice(at + 1);
}

function receipts(): Vector[] {
  const good = text(PROOF);
  const one = (title: string, file: string, failed: readonly string[], keys = logKeys): Vector => ({
    title: `a proof ${title}`,
    files: { 'proof.json': file },
    pins: { logKeys: keys },
    command: ['receipt', 'proof.json'],
    failed,
  });
  const { record, ...bare } = PROOF;
  const withData = (title: string, data: JsonValue, failed: readonly string[]): Vector => ({
    ...one(title, text(bare), failed),
    files: { 'proof.json': text(bare), 'sent.json': canonical(data) },
    command: ['receipt', 'proof.json', '--data', 'sent.json'],
  });
  return [
    one('that holds', good, []),
    one('with another data hash', broken(good, '"dataHash":"'), ['content', 'leaf']),
    // Leaves contain no salt, so that an erased one leaves the log unchanged.
    one('with another salt', broken(good, '"salt":"'), ['content']),
    one('with another id', broken(good, '"id":"'), ['leaf']),
    one('with other content', broken(good, '"order":'), ['content']),
    one('with another leaf hash', broken(good, '"leafHash":"'), ['leaf', 'inclusion']),
    one('with another path', broken(good, '"inclusionPath":["'), ['inclusion']),
    // In a tree of 21 the path of entry 7 has the same length and root.
    one('with another size', good.replace('"treeSize":20', '"treeSize":21'), ['size']),
    one('with another root', broken(good, '\\n20\\n'), ['signature', 'inclusion']),
    one('by somebody else', good, ['signature', 'origin'], generateNoteKey('other.example').verifierKey),
    one('by another key of that name', good, ['signature'], stranger),
    withData('with the content that was sent', record.data, []),
    withData('with content that was not sent', { order: 8 }, ['content']),
  ];
}

function logProofs(): Vector[] {
  const good = receiptLogProof(PROOF);
  const [first, second] = [witness('w1.example'), witness('w2.example')];
  const policy = `witness one ${first.key}\nwitness two ${second.key}\ngroup both all one two\nquorum both\n`;
  const seen = [first, second].map(({ cosign }) => cosign(parseNote(PROOF.proof.checkpoint).text));
  const one = (title: string, file: string, failed: readonly string[], pins: Vector['pins'] = { logKeys }): Vector => ({
    title: `a tlog-proof ${title}`,
    files: { 'order.tlog-proof': file },
    pins,
    command: ['proof', 'order.tlog-proof'],
    failed,
  });
  const byPolicy = { logKeys, policy };
  return [
    one('that holds', good, []),
    one('of another place', good.replace('index 7', 'index 8'), ['inclusion']),
    one('of another entry', receiptLogProof({ ...PROOF, receipt: { ...PROOF.receipt, owner: 'Eve' } }), ['inclusion']),
    one('by another key', good, ['checkpoint'], { logKeys: stranger }),
    one('that is cut short', good.slice(0, 60), ['proof']),
    one('that both witnesses of a policy cosigned', good + seen.join(''), [], byPolicy),
    one('that one of two witnesses cosigned', good + seen[0]!, ['checkpoint'], byPolicy),
    one('of a log that the policy does not name', good, ['checkpoint'], { policy: `log ${stranger}\nquorum none\n` }),
    {
      ...one('of witnesses', text(PROOF), ['witnesses'], byPolicy),
      title: 'a proof that no witness cosigned',
      files: { 'proof.json': text(PROOF) },
      command: ['receipt', 'proof.json'],
    },
  ];
}

function answers(): Vector[] {
  const good = text(log.answerOf(6, 7, 8));
  const one = (title: string, file: string, failed: readonly string[]): Vector => ({
    title: `an answer ${title}`,
    files: { 'answer.json': file, 'proof.json': text(PROOF) },
    pins: { logKeys },
    command: ['answer', 'answer.json', 'proof.json'],
    failed,
  });
  return [
    one('that is proved', good, []),
    one('that names another leaf', good.replace(PROOF.proof.leafHash, '0'.repeat(64)), ['answer']),
    one('of another record', text(log.answerOf(8)), ['answer']),
  ];
}

function checkpoints(): Vector[] {
  const one = (title: string, note: string, failed: readonly string[]): Vector => ({
    title: `a checkpoint ${title}`,
    files: { 'checkpoint.txt': note },
    pins: { logKeys },
    command: ['checkpoint', 'checkpoint.txt'],
    failed,
  });
  const two = (title: string, files: Readonly<Record<string, string>>, failed: readonly string[]): Vector => ({
    title: `two checkpoints ${title}`,
    files,
    pins: { logKeys },
    command: ['consistency', 'old.txt', 'new.txt', ...('path.json' in files ? ['--proof', 'path.json'] : [])],
    failed,
  });
  const [older, newer] = [log.checkpoint(5), log.checkpoint()];
  return [
    one('that is signed', newer, []),
    one('of another size', newer.replace('\n20\n', '\n21\n'), ['signature']),
    one('of another log', log.checkpoint(20, 'other.example/demo.main'), ['origin']),
    two('of one past', { 'old.txt': older, 'new.txt': newer, 'path.json': text(path) }, []),
    two(
      'with a changed path',
      { 'old.txt': older, 'new.txt': newer, 'path.json': broken(text({ consistencyPath: path }), '["') },
      ['consistency'],
    ),
    two('of a fork', { 'old.txt': older, 'new.txt': fork.checkpoint(), 'path.json': text(path) }, ['consistency']),
    two('of one size and two roots', { 'old.txt': newer, 'new.txt': fork.checkpoint() }, ['consistency']),
    two('of which one was edited', { 'old.txt': broken(older, '\n5\n'), 'new.txt': newer, 'path.json': text(path) }, [
      'old signature',
      'consistency',
    ]),
  ];
}

function declarations(): Vector[] {
  const alone = (title: string, file: string, failed: readonly string[]): Vector => ({
    title: `a declaration ${title}`,
    files: { 'declaration.json': file },
    pins: { logKeys: epochKeys },
    command: ['declaration', 'declaration.json'],
    failed,
  });
  const beside = (title: string, file: string, failed: readonly string[]): Vector => ({
    title: `a proof beside a declaration ${title}`,
    files: { 'declaration.json': file, 'proof.json': text(lost) },
    pins: { logKeys: epochKeys },
    command: ['receipt', 'proof.json', '--declaration', 'declaration.json'],
    failed,
  });
  const good = text(declaration);
  return [
    alone('that holds', good, []),
    alone('with another reason', broken(good, '"reason":"'), ['declaration']),
    alone('with another end', good.replace('"lostUntil":4', '"lostUntil":3'), ['declaration', 'loss']),
    alone('with another last checkpoint', good.replace('/demo.main\\n4\\n', '/demo.main\\n5\\n'), [
      ...['declaration', 'last signature', 'loss'],
    ]),
    beside('that holds', good, []),
    beside('with another reason', broken(good, '"reason":"'), ['declaration']),
    {
      title: 'a proof from the log after a loss',
      files: { 'proof.json': text({ receipt: epochs.LATER, proof: laterProof }) },
      pins: { logKeys: epochKeys },
      command: ['receipt', 'proof.json'],
      failed: [],
    },
  ];
}

function documents(): Vector[] {
  const { text: envelope, jws } = envelopes.sealed([envelopes.proof]);
  const { text: forged, jws: forgedJws } = envelopes.sealed([{ ...envelopes.proof, index: 0 }]);
  const other = text(jwksOf([documentSigner(generateDocumentKey()).jwk]));
  const jwks = text(envelopes.jwks);
  const one = (title: string, file: string, pins: Vector['pins'], failed: readonly string[]): Vector => ({
    title: `an envelope ${title}`,
    files: { 'page.json': file },
    pins: { logKeys: envelopes.log.verifierKey, jwks, ...pins },
    command: ['envelope', 'page.json'],
    failed,
  });
  return [
    one('that is signed', envelope, { signature: jws }, []),
    one('with another organisation', envelope.replace('"org_1"', '"org_2"'), { signature: jws }, ['hash', 'signed']),
    one('with a proof that does not hold', forged, { signature: forgedJws }, ['inclusion']),
    one('by somebody else', envelope, { signature: jws, jwks: other }, ['signed']),
    one('without a signature', envelope, {}, ['signed']),
  ];
}

function packsOfCases(): Vector[] {
  const jwks = text(packs.jwks);
  const one = (title: string, file: object, failed: readonly string[], keys: string | undefined = jwks): Vector => ({
    title: `a pack ${title}`,
    files: { 'pack.json': text(file) },
    pins: { logKeys: packs.logKey.verifierKey, jwks: keys },
    command: ['pack', 'pack.json'],
    failed,
  });
  const good = packs.packOf(packs.parts());
  const said = ['pack hash', 'pack signature'];
  return [
    one('that is signed', good, []),
    one('with another status', packs.edited(good, ['status'], 'decided'), said),
    one('with another event', packs.edited(good, ['timeline', 0, 'actor'], 'key_2'), [...said, 'timeline']),
    one(
      'that was signed with another document',
      packs.packOf(packs.edited(packs.parts(), ['seals', 0, 'document', 'decision'], 'decline')),
      ['seal hash', 'seal document', 'content'],
    ),
    one('by somebody else', good, ['pack signature'], text(jwksOf([documentSigner(generateDocumentKey()).jwk]))),
  ];
}

function deliveries(): Vector[] {
  const one = (title: string, changes: object, given: { body?: string; key?: string }, failed: readonly string[]) => ({
    title: `a delivery ${title}`,
    files: {
      'record.json': text({ extra: { ...delivery.extra, ...changes } }),
      'delivery.bin': given.body ?? delivery.BODY,
    },
    pins: { senderKeys: given.key ?? delivery.KEY },
    command: ['delivery', 'record.json', '--body', 'delivery.bin'] as const,
    failed,
  });
  return [
    one('that its sender signed', {}, {}, []),
    one('of other bytes', {}, { body: `${delivery.BODY} ` }, ['body', 'signed bytes', 'signature']),
    one('by somebody else', {}, { key: delivery.OTHER }, ['signature']),
    one('at another time', { timestamp: delivery.TIME + 1 }, {}, ['signed bytes', 'signature']),
    one('that a shared secret vouched for', { vouchedBy: 'shared-secret' }, {}, ['signature']),
  ];
}

/** What peers of a Fabric channel signed, with the trust file of the channel. */
function onFabric(): Vector[] {
  const trusted = (
    title: string,
    [kind, name, file]: readonly [string, string, object],
    more: Partial<Vector> = {},
  ): Vector => ({
    title: `${title} on Fabric`,
    files: { [name]: text(file), 'trust.json': text(trustFile()) },
    pins: {},
    command: [kind, name, '--trust', 'trust.json'],
    failed: [],
    ...more,
  });
  const { receipt, proof } = fabricProof();
  const evidence = (data: JsonValue) => ['fabric', 'proof.json', { receipt, proof, record: { data } }] as const;
  const pack = (parts: packs.Members) => ['pack', 'pack.json', packs.packOf(parts)] as const;
  const [signer, jwks] = [{ pins: { jwks: text(packs.jwks) } }, text(envelopes.jwks)];
  const { envelope, jws: signature } = envelopes.sealed([envelopes.provedByPeers()]);
  return [
    trusted('a proof with its content', evidence({ total: 12 })),
    trusted('a proof with other content', evidence({ total: 13 }), { failed: ['content'] }),
    trusted('a pack of a seal', pack(packs.partsOnFabric()), signer),
    trusted('a pack of an invalid seal', pack(packs.partsOnFabric({ code: 11 })), {
      ...signer,
      failed: ['validation'],
    }),
    trusted('an envelope of a proof', ['envelope', 'proofs.json', envelope], { pins: { signature, jwks } }),
  ];
}

function signedDocuments(): Vector[] {
  const signer = documentSigner(generateDocumentKey());
  const words = 'Exactly these bytes, « as they are ».\n';
  const pins = { jwks: text(jwksOf([signer.jwk])), signature: signer.sign(Buffer.from(words)) };
  const one = (title: string, file: string, failed: readonly string[]): Vector => ({
    title: `a document ${title}`,
    files: { 'document.txt': file },
    pins,
    command: ['signed', 'document.txt'],
    failed,
  });
  return [one('that is signed', words, []), one('with another byte', words.replace('E', 'e'), ['signature'])];
}

/** Generated for each test run, with new keys. */
export const vectors: readonly Vector[] = [
  ...receipts(),
  ...logProofs(),
  ...answers(),
  ...checkpoints(),
  ...declarations(),
  ...documents(),
  ...packsOfCases(),
  ...onFabric(),
  ...deliveries(),
  ...signedDocuments(),
];
