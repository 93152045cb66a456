import { createHash, generateKeyPairSync, sign } from 'node:crypto';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** How a witness treats every checkpoint. */
export type WitnessKind = 'cosigns' | 'away' | 'slow' | 'lies';

interface BenchWitness {
  readonly kind: WitnessKind;
  /** In the form of LEDGER_WITNESS_POLICY: this witness, whose cosignature is required. */
  readonly policy: string;
  stop(): Promise<void>;
}

/** Longer than a checkpoint waits for its quorum, shorter than the timeout of a witness. */
const slowMs = 7_000;

/**
 * A witness that answers `add-checkpoint` of C2SP tlog-witness. It cosigns at once without checking anything, so it
 * costs one signature; or it refuses connections, answers late, or signs with a wrong key.
 */
export async function startWitness(kind: WitnessKind): Promise<BenchWitness> {
  const name = `witness.bench/${kind}`;
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  const stranger = generateKeyPairSync('ed25519').privateKey;
  const point = publicKey.export({ format: 'der', type: 'spki' }).subarray(-32);
  const encoded = Buffer.concat([Buffer.of(4), point]);
  const keyId = createHash('sha256').update(`${name}\n`).update(encoded).digest().subarray(0, 4);
  const cosign = (body: string): string => {
    const note = body.slice(body.indexOf('\n\n') + 2);
    const text = note.slice(0, note.lastIndexOf('\n\n') + 1);
    const seconds = Math.floor(Date.now() / 1_000);
    const time = Buffer.alloc(8);
    time.writeBigUInt64BE(BigInt(seconds));
    const signed = Buffer.from(`cosignature/v1\ntime ${seconds}\n${text}`);
    const signature = sign(null, signed, kind === 'lies' ? stranger : privateKey);
    return `— ${name} ${Buffer.concat([keyId, time, signature]).toString('base64')}\n`;
  };
  const waiting = new Set<NodeJS.Timeout>();
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const answer = (): ServerResponse => response.end(cosign(Buffer.concat(chunks).toString('utf8')));
      if (kind !== 'slow') return answer();
      const timer = setTimeout(() => {
        waiting.delete(timer);
        answer();
      }, slowMs);
      return waiting.add(timer);
    });
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const stop = async (): Promise<void> => {
    for (const timer of waiting) clearTimeout(timer);
    await closed(server);
  };
  if (kind === 'away') await stop();
  const key = `${name}+${keyId.toString('hex')}+${encoded.toString('base64')}`;
  return {
    kind,
    policy: `witness w ${key} ${url}\nquorum w\n`,
    stop: kind === 'away' ? () => Promise.resolve() : stop,
  };
}

function closed(server: Server): Promise<void> {
  server.closeAllConnections();
  return new Promise((done) => void server.close(() => done()));
}
