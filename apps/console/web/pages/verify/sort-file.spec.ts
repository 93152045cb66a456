import { describe, expect, it } from '@jest/globals';
import { sortFile } from './sort-file.ts';

const sorted = (text: string): string => sortFile({ name: 'file', bytes: new TextEncoder().encode(text) }).is;

describe('a dropped file', () => {
  it('is recognised as tlog-proof, policy or checkpoint by its content', () => {
    expect(sorted('c2sp.org/tlog-proof@v1\nindex 0\n\na\n1\nAAAA=\n\n— a AAAA=\n')).toBe('log-proof');
    expect(sorted('log.example\n1\nAAAA=\n\n— log.example AAAA=\n')).toBe('note');
    expect(sorted('# trusted\n\n  witness one key\nquorum one\n')).toBe('policy');
    expect(sorted('quorum none')).toBe('policy');
  });

  it('is recognised as proof of Fabric or trust file by its kind', () => {
    const call = { proposal: '', responses: [] };
    const proof = { v: 1, kind: 'fabric', channel: 'c', chaincode: 'r', view: call };
    const whole = { ...proof, statement: { transactionId: 't', ...call } };
    expect(sorted(JSON.stringify(whole))).toBe('fabric');
    expect(sorted(JSON.stringify({ asset: {}, receipt: {}, proof: whole }))).toBe('fabric');
    expect(sorted(JSON.stringify({ receipt: {}, proof }))).toBe('unreadable');
    expect(sorted('{"kind":"fabric-trust"}')).toBe('trust');
  });

  it('is no policy just because of its first word', () => {
    expect(sorted('log in before you answer\n')).toBe('other');
    expect(sorted('a text\nquorum none\n')).toBe('other');
  });

  // A regular expression over the whole text took minutes for these.
  it.each([' \n', '#\n', '\n \n#a\n'])('is recognised in linear time with many lines of %j', (line) => {
    expect(sorted(`${line.repeat(400_000)}x`)).toBe('other');
  });
});
