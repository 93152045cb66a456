import { generateKeyPairSync, hash, sign } from 'node:crypto';

/** In the format of C2SP tlog-cosignature, built without our libraries. */
export function witness(name: string) {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  const key = Buffer.concat([Buffer.of(4), publicKey.export({ format: 'der', type: 'spki' }).subarray(-32)]);
  const id = hash('sha256', Buffer.concat([Buffer.from(`${name}\n`), key]), 'buffer').subarray(0, 4);
  const time = Buffer.alloc(8);
  time.writeUInt32BE(1_893_553_445, 4);
  return {
    key: `${name}+${id.toString('hex')}+${key.toString('base64')}`,
    cosign(text: string): string {
      const signature = sign(null, Buffer.from(`cosignature/v1\ntime 1893553445\n${text}`), privateKey);
      return `— ${name} ${Buffer.concat([id, time, signature]).toString('base64')}\n`;
    },
  };
}
