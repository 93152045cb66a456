import { generateKeyPairSync, sign } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { cosignatureVerifier } from './cosignature.ts';
import { checkPolicy, parsePolicy } from './log-policy.ts';
import { logProofText, parseLogProof } from './log-proof.ts';
import { keyHashOf } from './note-key.ts';
import { generateNoteKey, noteSigner } from './note-signer.ts';
import { noteVerifier, parseNote, parseSignatures, signatureLine } from './note.ts';
import { leafHash } from './tree-hash.ts';
import { verifyInclusion } from './verify-proof.ts';

// Made with filippo.io/torchwood v0.9.0 and golang.org/x/mod v0.33.0: leaf 3 of the leaves "leaf 0" to "leaf 4".
const LOG_KEY = 'log.example/acme.main+a77cb85d+AdPgSH/KWo1eEN1qvW/iMdtrMFviaDgjoj/M3xYpcYNH';
const W1_KEY = 'w1.example+11c8f4c8+BEtCePP28bkSi/ZxLF65+cydHDRh+AhwUc5Okowfb9iu';
const W2_KEY = 'w2.example+f4cdfafa+BPG7LsTqzdoCg6bxHCtaGB6aiE6H29oo6MK8jL61umPv';
const TEXT = 'log.example/acme.main\n5\nNBUVmC1lDiNSDb1U1/zwr6G3DMOhakEdRk3JwayWwwE=\n';
const OF_LOG =
  '— log.example/acme.main p3y4Xez88A7snLPLB4AhwBrrv4Ch42Uk+QZEiTxz05a3yR9MMwptpA5Zhh3MsbbBVfStI+h0yUwk/4vSEXMxueK0dgA=\n';
const OF_W1 =
  '— w1.example Ecj0yAAAAABrBLuBx9dp11Vk1Wlju4xDaYS1DnK/Of5he628lM4CDczCZX3eY3A8aGL0hO3EekDjtbV5Z75BhNQrtpQcnDlOAh87Dw==\n';
const OF_W2 =
  '— w2.example 9M36+gAAAABrBLuBcg4FzWJXzsHhVihprZ7EZY167/qd/fIuKiJvZpCJSd2PJviXWS0xhg8w0EAIiNRnoMhS9kvcZMJvZCrQAEYbDQ==\n';
const SIGNED_AT = 0x6b_04_bb_81;
const NOTE = `${TEXT}\n${OF_LOG}${OF_W1}${OF_W2}`;
const PROOF = `c2sp.org/tlog-proof@v1
extra bGVhZiAz
index 3
qze6NNHf4pAV3nF6bVdkqPsCnDp6D1tkuTtUNRiFv3w=
/F9riP+FVPdbsvnm85wxsZNtRLaSdu33sSBalVuXYeM=
gxFfiUeVX6/cKifn9MCFS72Nonuxs+NAXbVxya+Nvho=

${NOTE}`;

const LOG = `log ${LOG_KEY} https://log.example/acme.main\n`;
const POLICY = `# one log, two witnesses
${LOG}witness\tone ${W1_KEY} https://w1.example/

  witness two ${W2_KEY}
group both all one two
quorum both
`;
const problemOf = (policy: string, note: string) => checkPolicy(parsePolicy(policy), note).problem;

/** A witness with its own key that signs anything. */
function witness(name: string) {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  const point = publicKey.export({ format: 'der', type: 'spki' }).subarray(-32);
  const keyHash = keyHashOf(name, point, 4);
  const key = `${name}+${keyHash}+${Buffer.concat([Buffer.of(4), point]).toString('base64')}`;
  const cosign = (text: string, seconds: bigint, told = seconds): string => {
    const time = Buffer.alloc(8);
    time.writeBigUInt64BE(told);
    const signature = sign(null, Buffer.from(`cosignature/v1\ntime ${seconds}\n${text}`), privateKey);
    return signatureLine({ name, keyHash, signature: Buffer.concat([time, signature]) });
  };
  return { key, cosign };
}

describe('a cosignature', () => {
  it('contains the signing time, as written by the reference implementation', () => {
    const verifier = cosignatureVerifier(W1_KEY);
    expect(verifier).toMatchObject({ name: 'w1.example', keyHash: '11c8f4c8', verifierKey: W1_KEY });
    const { text, signatures } = parseNote(NOTE);
    expect(signatures.map((one) => verifier.signedAt(text, one))).toEqual([undefined, SIGNED_AT, undefined]);
    expect(parseSignatures(`${OF_W1}${OF_W2}`).map(signatureLine)).toEqual([OF_W1, OF_W2]);
  });

  it('is invalid if any character of the checkpoint changes, extension lines included', () => {
    const { key, cosign } = witness('w.example');
    const text = `${TEXT}extension\n`;
    const [line] = parseSignatures(cosign(text, 7n));
    const verifier = cosignatureVerifier(key);
    expect(verifier.signedAt(text, line!)).toBe(7);
    fc.assert(
      fc.property(fc.nat({ max: text.length - 1 }), fc.string({ maxLength: 2 }), (place, other) => {
        const changed = text.slice(0, place) + other + text.slice(place + 1);
        fc.pre(changed !== text);
        expect(verifier.signedAt(changed, line!)).toBeUndefined();
      }),
    );
  });

  it.each([
    ['states another time than the signed one', 7n, 8n],
    ['has a time beyond safe integers', 2n ** 53n, 2n ** 53n],
  ])('is invalid if it %s', (_, seconds, told) => {
    const { key, cosign } = witness('w.example');
    const [line] = parseSignatures(cosign(TEXT, seconds, told));
    expect(cosignatureVerifier(key).signedAt(TEXT, line!)).toBeUndefined();
  });

  it('is invalid over anything but a complete checkpoint', () => {
    const { key, cosign } = witness('w.example');
    const verifier = cosignatureVerifier(key);
    const [over] = parseSignatures(cosign('no checkpoint\n', 7n));
    expect(verifier.signedAt('no checkpoint\n', over!)).toBeUndefined();
    const [whole] = parseSignatures(cosign(TEXT, 7n));
    expect(verifier.signedAt(TEXT, { ...whole!, signature: whole!.signature.subarray(1) })).toBeUndefined();
  });

  it.each([
    ['the key of a log', LOG_KEY, 'cosignature/v1'],
    ['another key id', W1_KEY.replace('11c8', '11c9'), 'hashes to 11c8f4c8'],
  ])('cannot be verified with %s', (_, key, message) => {
    expect(() => cosignatureVerifier(key)).toThrow(message);
  });
});

describe('a policy', () => {
  it('is satisfied by its log and its quorum, and returns who cosigned when', () => {
    const policy = parsePolicy(POLICY);
    expect(policy.logs).toMatchObject([{ url: 'https://log.example/acme.main' }]);
    expect(policy.witnesses.map(({ name, url }) => [name, url])).toEqual([
      ['one', 'https://w1.example/'],
      ['two', undefined],
    ]);
    const verdict = checkPolicy(policy, NOTE);
    expect(verdict).toMatchObject({ checkpoint: { origin: 'log.example/acme.main', size: 5 } });
    const times = 'cosignedAt' in verdict ? [...verdict.cosignedAt.values()] : [];
    expect(times).toEqual([SIGNED_AT, SIGNED_AT]);
  });

  it.each([
    ['all one two', OF_W1, false],
    ['all one two', OF_W1 + OF_W2, true],
    ['any one two', OF_W2, true],
    ['any one two', '', false],
    ['1 one two', OF_W1, true],
    ['2 one two', OF_W1, false],
  ])('with a group of %s counts its members', (group, lines, isReached) => {
    const text = `${LOG}witness one ${W1_KEY}\nwitness two ${W2_KEY}\ngroup g ${group}\nquorum g\n`;
    expect(problemOf(text, `${TEXT}\n${OF_LOG}${lines}`) === undefined).toBe(isReached);
  });

  it('counts groups as members of groups, and a single witness', () => {
    const [w3, w4] = [witness('w3.example'), witness('w4.example')];
    const text = `${LOG}witness a ${W1_KEY}\nwitness b ${w3.key}\nwitness c ${w4.key}\ngroup bc any b c\ngroup q all a bc\n`;
    const by = (lines: string) => `${TEXT}\n${OF_LOG}${lines}`;
    expect(problemOf(`${text}quorum q\n`, by(OF_W1))).toBe(
      'The witnesses that cosigned are no quorum of the policy: a.',
    );
    expect(problemOf(`${text}quorum q\n`, by(OF_W1 + w4.cosign(TEXT, 9n)))).toBeUndefined();
    expect(problemOf(`${text}quorum c\n`, by(w4.cosign(TEXT, 9n)))).toBeUndefined();
    expect(problemOf(`${text}quorum none\n`, by(''))).toBeUndefined();
  });

  it('accepts a log given by the caller in place of its own', () => {
    const policy = parsePolicy('quorum none\n');
    expect(checkPolicy(policy, NOTE).problem).toContain('names no log');
    expect(checkPolicy(policy, NOTE, noteVerifier(LOG_KEY)).problem).toBeUndefined();
    const stranger = noteVerifier(generateNoteKey('log.example/acme.main').verifierKey);
    expect(checkPolicy(policy, NOTE, stranger).problem).toContain('is not signed by a key that is trusted');
  });

  it('accepts several keys of one origin', () => {
    const next = generateNoteKey('log.example/acme.main');
    const text = `log ${next.verifierKey}\n${LOG}quorum none\n`;
    expect(problemOf(text, NOTE)).toBeUndefined();
    expect(problemOf(text, noteSigner(next.privateKey).sign(TEXT))).toBeUndefined();
  });

  it.each([
    [
      'of another log',
      NOTE.replaceAll('acme.main', 'acme.other'),
      'names no log with the origin log.example/acme.other',
    ],
    ['of another size', NOTE.replace('\n5\n', '\n6\n'), 'is not signed by a key that is trusted for it'],
    ['that only witnesses signed', `${TEXT}\n${OF_W1}${OF_W2}`, 'is not signed by a key that is trusted for it'],
    ['with one witness too few', `${TEXT}\n${OF_LOG}${OF_W2}`, 'no quorum of the policy: two'],
    [
      'with cosignatures of strangers alone',
      `${TEXT}\n${OF_LOG}${witness('w1.example').cosign(TEXT, 1n)}`,
      'policy: none',
    ],
    ['that is not a note', TEXT, 'blank line'],
    ['that is not a checkpoint', noteSigner(generateNoteKey('x').privateKey).sign('x\n'), 'three lines'],
  ])('rejects a checkpoint %s', (_, note, problem) => {
    expect(problemOf(POLICY, note)).toContain(problem);
  });

  it('rejects a checkpoint with a cosignature over another size', () => {
    const { key, cosign } = witness('w3.example');
    const text = POLICY.replace('group', `witness three ${key}\ngroup`);
    expect(problemOf(text, `${NOTE}${cosign(TEXT, 1n)}`)).toBeUndefined();
    expect(problemOf(text, `${NOTE}${cosign(TEXT.replace('\n5\n', '\n6\n'), 1n)}`)).toBe(
      'The cosignature that claims to be of the witness three is not over this checkpoint.',
    );
  });

  it.each([
    ['no quorum', LOG, 'has a quorum line'],
    ['two quorums', 'quorum none\nquorum none\n', 'Line 2 of the policy: A policy has one quorum line'],
    ['a quorum that is defined later', `quorum one\nwitness one ${W1_KEY}\n`, 'one is not defined'],
    ['another keyword', 'logs x\nquorum none\n', 'begins with log, witness'],
    ['a comment after a line', 'quorum none # all\n', 'quorum <name>'],
    ['a log twice', `${LOG}${LOG}quorum none\n`, 'there already'],
    ['the key of a witness for a log', `log ${W1_KEY}\nquorum none\n`, 'not of type Ed25519'],
    ['the key of a log for a witness', `witness one ${LOG_KEY}\nquorum one\n`, 'cosignature/v1'],
    ['a witness under two names', `witness one ${W1_KEY}\nwitness two ${W1_KEY}\nquorum one\n`, 'there already'],
    ['a name twice', `witness one ${W1_KEY}\nwitness one ${W2_KEY}\nquorum one\n`, 'The name one is taken'],
    ['a witness called none', `witness none ${W1_KEY}\nquorum none\n`, 'The name none is taken'],
    ['an empty group', `witness one ${W1_KEY}\ngroup g any\nquorum g\n`, 'group <name>'],
    ['none in a group', 'group g any none\nquorum g\n', 'none is not defined'],
    ['a group of itself', 'group g any g\nquorum g\n', 'g is not defined'],
    ['a threshold above its members', `witness one ${W1_KEY}\ngroup g 2 one\nquorum g\n`, 'from 1 to 1'],
    ['a threshold of none', `witness one ${W1_KEY}\ngroup g 0 one\nquorum g\n`, 'from 1 to 1'],
    ['a member twice', `witness one ${W1_KEY}\ngroup g 2 one one\nquorum g\n`, 'one is a member already'],
    [
      'a member of two groups',
      `witness one ${W1_KEY}\ngroup g any one\ngroup h any one\nquorum h\n`,
      'one is a member already',
    ],
    ['a carriage return', 'quorum none\r\n', 'control character'],
    ['invalid UTF-8', 'quorum \ufffd\n', 'UTF-8'],
    ['more than is read', `#${'x'.repeat(100_000)}\nquorum none\n`, 'at most'],
  ])('is not parsed with %s', (_, text, message) => {
    expect(() => parsePolicy(text)).toThrow(message);
  });

  it('accepts 32 logs, witnesses and groups, up to a limit', () => {
    const lines = (count: number) =>
      Array.from({ length: count }, (_, at) => {
        const { key } = witness(`w${at}.example`);
        return `log ${generateNoteKey(`l${at}`).verifierKey}\nwitness w${at} ${key}\ngroup g${at} any w${at}\n`;
      }).join('');
    expect(parsePolicy(`${lines(32)}quorum g31\n`).logs).toHaveLength(32);
    expect(() => parsePolicy(`${lines(101)}quorum none\n`)).toThrow('at most 100 lines of a kind');
  });
});

describe('a self-contained proof', () => {
  it("is parsed and written like the reference implementation's, and leads to the root", () => {
    const proof = parseLogProof(PROOF);
    expect(proof).toMatchObject({ index: 3, checkpoint: NOTE });
    expect(proof.extra?.toString()).toBe('leaf 3');
    expect(logProofText(proof)).toBe(PROOF);
    const verdict = checkPolicy(parsePolicy(POLICY), proof.checkpoint);
    const { size, root } = 'checkpoint' in verdict ? verdict.checkpoint : { size: 0, root: Buffer.alloc(0) };
    expect(verifyInclusion({ ...proof, leafHash: leafHash('leaf 3'), size, root })).toBe(true);
    expect(verifyInclusion({ ...proof, leafHash: leafHash('leaf 2'), size, root })).toBe(false);
  });

  it('requires neither extra data nor a path', () => {
    const text = `c2sp.org/tlog-proof@v1\nindex 0\n\n${NOTE}`;
    expect(parseLogProof(text)).toEqual({ index: 0, path: [], checkpoint: NOTE });
    expect(logProofText({ index: 0, path: [], checkpoint: NOTE })).toBe(text);
  });

  it.each([
    ['another version', PROOF.replace('@v1', '@v2'), 'begins with'],
    ['no empty line', PROOF.replaceAll('\n\n', '\n'), 'empty line'],
    ['no index', PROOF.replace('index 3\n', ''), 'a line index'],
    ['a leading zero', PROOF.replace('index 3', 'index 03'), 'a line index'],
    ['an index below 0', PROOF.replace('index 3', 'index -1'), 'a line index'],
    ['an index beyond safe integers', PROOF.replace('index 3', 'index 9007199254740992'), 'a line index'],
    ['the index above the extra data', PROOF.replace(/(extra.*\n)(index.*\n)/, '$2$1'), '32 bytes'],
    ['extra data that is not base64', PROOF.replace('bGVhZiAz', 'bGVhZiA'), 'extra of a proof is base64'],
    ['a short hash', PROOF.replace('qze6', ''), '32 bytes'],
    ['a non-canonical hash', PROOF.replace('Fv3w=', 'Fv3x='), '32 bytes'],
    [
      'more hashes than a tree is deep',
      PROOF.replace('\n\n', `\n${'qze6NNHf4pAV3nF6bVdkqPsCnDp6D1tkuTtUNRiFv3w=\n'.repeat(53)}\n`),
      'at most 53',
    ],
    ['more than is read', `${PROOF}${'x'.repeat(1_200_000)}`, 'characters long'],
  ])('is not parsed with %s', (_, text, message) => {
    expect(() => parseLogProof(text)).toThrow(message);
  });

  it('is not written with an index below 0, or a hash of another length', () => {
    expect(() => logProofText({ index: -1, path: [], checkpoint: NOTE })).toThrow('No entry');
    expect(() => logProofText({ index: 0, path: [Buffer.alloc(31)], checkpoint: NOTE })).toThrow('32 bytes');
  });
});
