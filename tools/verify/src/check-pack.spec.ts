import { describe, expect, it } from '@jest/globals';
import { dataHashOf, documentSigner, generateDocumentKey, jwksOf, receiptLeaf } from '@sealgate/envelope';
import { canonical, canonicalHash, sha256, type JsonValue } from '@sealgate/json';
import {
  checkpointText,
  generateNoteKey,
  inclusionPath,
  noteSigner,
  noteVerifier,
  TileTree,
  tilePath,
} from '@sealgate/merkle';
import { runCli } from './cli.ts';
import { checkPack } from './check-pack.ts';
import { readPackFile } from './pack-file.ts';
import { directoryOf } from './testing/sample-log.ts';
import { UnreadableError } from './unreadable-error.ts';

const logKey = generateNoteKey('log.example');
const signer = documentSigner(generateDocumentKey());
const jwks = jwksOf([signer.jwk]);
const CHANNEL = 'demo.cases';
const AT = '2026-01-01T00:00:00.000Z';

type Members = { [member: string]: JsonValue };

const attachments = [{ attachment_id: 'att_1', sha256: 'a'.repeat(64) }];
const decision = {
  decision_id: 'dec_1',
  policy_version: 'p1',
  decision: 'approve',
  reason_codes: ['A'],
  valid_until: null,
  decided_at: AT,
};
const document: Members = {
  v: 1,
  case_id: 'case_1',
  subject_ref: 'subj_1',
  environment: 'live',
  venue_ids: ['hall'],
  ...decision,
  attachments,
};

/** The record of the seal among others in a log of seven. */
async function proofOfSeal(): Promise<Members> {
  const salt = Buffer.alloc(32, 7);
  const receipt = (id: string, data: JsonValue, index: number) => ({
    network: 'demo',
    channel: CHANNEL,
    id,
    type: 'case.seal',
    owner: null,
    dataHash: dataHashOf(salt, data, null),
    salt: salt.toString('hex'),
    extra: null,
    transactionId: 'tx',
    at: AT,
    index,
  });
  const receipts = Array.from({ length: 7 }, (_, index) =>
    index === 4 ? receipt('ledger_rec_1', document, 4) : receipt(`other-${index}`, {}, index),
  );
  const leaves = receipts.map(receiptLeaf);
  const tree = TileTree.empty();
  const tiles = [...tree.append(Buffer.concat(leaves)), ...tree.edge()];
  const stored = new Map(tiles.map((tile) => [tilePath(tile), tile.hashes]));
  const path = await inclusionPath(4, 7, (wanted) =>
    Promise.resolve(wanted.map((tile) => stored.get(tilePath(tile))!)),
  );
  const note = checkpointText({ origin: `log.example/${CHANNEL}`, size: 7, root: tree.root() });
  const proof = {
    channel: CHANNEL,
    index: 4,
    leafHash: leaves[4]!.toString('hex'),
    treeSize: 7,
    inclusionPath: path.map((hash) => hash.toString('hex')),
    checkpoint: noteSigner(logKey.privateKey).sign(note),
  };
  return { receipt: receipts[4]!, proof };
}

const sealHash = sha256(canonical(document)).toString('hex');
const proof = await proofOfSeal();

function timeline(): Members[] {
  let before: string | null = null;
  const events: [string, Members][] = [
    ['case.received', {}],
    ['case.decided', {}],
    ['case.sealed', { seal_hash: sealHash, ledger_record_id: 'ledger_rec_1' }],
  ];
  return events.map(([event, data], index) => {
    const rest: Members = { seq: index + 1, at: AT, event, actor: 'key_1', data, prev_hash: before };
    before = canonicalHash(rest);
    return { ...rest, hash: before };
  });
}

const parts = (): Members => ({
  case_id: 'case_1',
  subject_ref: 'subj_1',
  status: 'sealed',
  timeline: timeline(),
  decisions: [{ ...decision, decided_by: 'key_1' }],
  attachments,
  seals: [{ document, seal_hash: sealHash, ledger_record_id: 'ledger_rec_1', proof }],
  canonicalization: 'RFC8785',
});

/** A pack as its owner would sign it, whatever is in it. */
function packOf(signed: Members): Members {
  const bytes = Buffer.from(canonical(signed));
  const hashes = { pack_hash: sha256(bytes).toString('hex'), signature: signer.sign(bytes) };
  return { ...signed, generated_at: AT, ...hashes };
}

const verifier = noteVerifier(logKey.verifierKey);
const judge = (pack: Members, keys: typeof jwks | 'none' = jwks) =>
  checkPack({ file: readPackFile('pack.json', pack), jwks: keys === 'none' ? undefined : keys, verifier });
const failedSteps = (pack: Members): string[] => [
  ...new Set(judge(pack).steps.flatMap(({ step, status }) => (status === 'failed' ? [step] : []))),
];

/** A copy with the member at this path replaced. */
function edited(pack: Members, path: readonly (string | number)[], value: JsonValue): Members {
  const copy = structuredClone(pack);
  let place = copy as Record<string | number, JsonValue>;
  for (const name of path.slice(0, -1)) place = place[name] as Record<string | number, JsonValue>;
  place[path.at(-1)!] = value;
  return copy;
}

describe('an assessor pack', () => {
  it('is verified by its signature, its chain and the proofs of its seals', () => {
    const report = judge(packOf(parts()));
    expect(report.steps.filter(({ status }) => status === 'failed')).toEqual([]);
    expect(report.verified).toBe(true);
    expect(report.conclusion).toContain('The pack of case_1 is what was signed');
  });

  it('is not verified without pinned keys, nor by those of somebody else', () => {
    expect(judge(packOf(parts()), 'none')).toMatchObject({ verified: false, conclusion: 'Failed: pack signature.' });
    const stranger = jwksOf([documentSigner(generateDocumentKey()).jwk]);
    expect(judge(packOf(parts()), stranger).conclusion).toBe('Failed: pack signature.');
  });

  it('may say another time of its making', () => {
    expect(judge({ ...packOf(parts()), generated_at: '2027-01-01T00:00:00.000Z' }).verified).toBe(true);
  });

  it.each<[string, (string | number)[], JsonValue]>([
    ['its status', ['status'], 'decided'],
    ['an event', ['timeline', 0, 'actor'], 'key_2'],
    ['a member that is new', ['note'], 'x'],
  ])('shows a change of %s by whoever does not have the key', (_, path, value) => {
    expect(failedSteps(edited(packOf(parts()), path, value))).toEqual(
      expect.arrayContaining(['pack hash', 'pack signature']),
    );
  });

  it.each<[string, (string | number)[], JsonValue, string]>([
    ['an event changed', ['timeline', 1, 'data'], { forged: true }, 'timeline'],
    ['an event left out', ['timeline'], timeline().filter((_, index) => index !== 1), 'timeline'],
    ['no events', ['timeline'], [], 'timeline'],
    ['another document', ['seals', 0, 'document', 'decision'], 'decline', 'content'],
    ['another seal hash', ['seals', 0, 'seal_hash'], '0'.repeat(64), 'seal hash'],
    ['another record', ['seals', 0, 'ledger_record_id'], 'ledger_rec_2', 'seal record'],
    ['another type of record', ['seals', 0, 'proof', 'receipt', 'type'], 'note', 'seal type'],
    ['another leaf', ['seals', 0, 'proof', 'proof', 'leafHash'], '0'.repeat(64), 'leaf'],
    ['another decision beside it', ['decisions', 0, 'reason_codes'], [], 'seal document'],
    ['other attachments beside it', ['attachments'], [], 'seal document'],
    ['another subject beside it', ['subject_ref'], 'subj_2', 'seal document'],
  ])('shows %s, though its owner signed it', (_, path, value, step) => {
    expect(failedSteps(packOf(edited(parts(), path, value)))).toContain(step);
  });

  it('that is a draft proves nothing of the ledger, and says so', () => {
    const report = judge(packOf({ ...parts(), seals: [] }));
    expect(report.verified).toBe(true);
    expect(report.conclusion).toContain('Nothing is sealed.');
    expect(report.notes.join(' ')).toContain('draft');
  });

  it.each<[string, Members]>([
    ['without a signature', (({ signature: _, ...rest }) => rest)(packOf(parts()))],
    ['of another canonical form', { ...packOf(parts()), canonicalization: 'other' }],
    ['with a seal that is none', { ...packOf(parts()), seals: [1] }],
  ])('%s is unreadable', (_, pack) => {
    expect(() => readPackFile('pack.json', pack)).toThrow(UnreadableError);
  });

  it('is checked from the command line', async () => {
    const directory = await directoryOf(
      new Map([
        ['pack.json', JSON.stringify(packOf(parts()))],
        ['jwks.json', JSON.stringify(jwks)],
      ]),
    );
    const run = async (line: string) => {
      let out = '';
      const code = await runCli(line.split(' '), { out: (text) => (out += text), err: () => undefined, directory });
      return { code, out };
    };
    const verified = await run(`pack pack.json --jwks jwks.json --key ${logKey.verifierKey}`);
    expect(verified).toMatchObject({ code: 0, out: expect.stringContaining('VERIFIED. The pack of case_1') });
    expect((await run(`pack pack.json --key ${logKey.verifierKey}`)).code).toBe(1);
  });
});
