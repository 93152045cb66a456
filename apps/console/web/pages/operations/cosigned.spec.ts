import { generateKeyPairSync, hash, sign } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { checkpointText, generateNoteKey, noteSigner } from '@sealgate/merkle';
import { cosigned, describePolicy } from './cosigned.ts';

const SECONDS = 1_893_553_445;

/** In the format of C2SP tlog-cosignature, built without our libraries. */
function witness(name: string) {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  const key = Buffer.concat([Buffer.of(4), publicKey.export({ format: 'der', type: 'spki' }).subarray(-32)]);
  const id = hash('sha256', Buffer.concat([Buffer.from(`${name}\n`), key]), 'buffer').subarray(0, 4);
  const time = Buffer.alloc(8);
  time.writeUInt32BE(SECONDS, 4);
  return {
    key: `${name}+${id.toString('hex')}+${key.toString('base64')}`,
    line(text: string): string {
      const signature = sign(null, Buffer.from(`cosignature/v1\ntime ${SECONDS}\n${text}`), privateKey);
      return `— ${name} ${Buffer.concat([id, time, signature]).toString('base64')}\n`;
    },
  };
}

const [north, south] = [witness('north.example'), witness('south.example')];
const policy = `# of tests
witness n ${north.key} https://north.example
witness s ${south.key}
group both all n s
quorum both
`;
const text = checkpointText({ origin: 'log.example/acme.main', size: 7, root: Buffer.alloc(32, 1) });
const signed = noteSigner(generateNoteKey('log.example').privateKey).sign(text);
const at = new Date(SECONDS * 1_000);

describe('the witnesses of a checkpoint', () => {
  it.each([
    ['none', '', [undefined, undefined], [], false],
    ['one', north.line(text), [at, undefined], [], false],
    ['all', north.line(text) + south.line(text), [at, at], [], true],
    ['all, one of them wrong', north.line(text) + south.line(`${text}x\n`), [at, undefined], ['s'], false],
  ])('that %s cosigned', async (_which, lines, times, wrong, isQuorum) => {
    const found = await cosigned(policy, signed + lines);
    expect(found).toMatchObject({ size: 7, isQuorum });
    expect(found.witnesses.map((one) => one.at)).toEqual(times);
    expect(found.witnesses.filter(({ isWrong }) => isWrong).map(({ name }) => name)).toEqual(wrong);
  });

  it('that nobody asks for are none, and the quorum is there', async () => {
    expect(await cosigned('quorum none', signed)).toEqual({ size: 7, isQuorum: true, witnesses: [] });
  });

  it('are not told for a note that is none', () => {
    expect(() => cosigned(policy, 'x')).toThrow('blank line');
  });
});

it('a policy is described by its witnesses and its rules', () => {
  expect(describePolicy(policy)).toEqual({
    witnesses: [
      { name: 'n', keyName: 'north.example', verifierKey: north.key, url: 'https://north.example' },
      { name: 's', keyName: 'south.example', verifierKey: south.key, url: undefined },
    ],
    rules: ['group both all n s', 'quorum both'],
  });
});
