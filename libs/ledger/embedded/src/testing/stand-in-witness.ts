import { createHash, generateKeyPairSync, sign } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { parseCheckpoint, parseNote, verifyConsistency } from '@sealgate/merkle';

/** Replaces the witness's answer. */
export type Misbehaviour = (response: ServerResponse, note: string) => void;

export interface StandInWitness {
  readonly url: string;
  /** Key of type 0x04, as listed in a policy. */
  readonly verifierKey: string;
  /** The tree last cosigned, by origin. */
  readonly cosigned: Map<string, { readonly size: number; readonly root: Buffer }>;
  /** The complete bodies of the requests received. */
  readonly requests: string[];
  misbehave(how: Misbehaviour | undefined): void;
  /** A signature line over a checkpoint's text. */
  line(text: string, seconds?: number): string;
  close(): Promise<void>;
}

/** A C2SP tlog-witness in memory that trusts every log: it verifies proofs and cosigns each tree once. */
export async function standInWitness(name = 'witness.test/w1'): Promise<StandInWitness> {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  const point = Buffer.from(publicKey.export({ format: 'jwk' }).x!, 'base64url');
  const encoded = Buffer.concat([Buffer.of(4), point]);
  const keyId = createHash('sha256').update(`${name}\n`).update(encoded).digest().subarray(0, 4);
  const cosigned = new Map<string, { readonly size: number; readonly root: Buffer }>();
  const requests: string[] = [];
  let misbehaviour: Misbehaviour | undefined;

  const line = (text: string, seconds = Math.floor(Date.now() / 1000)): string => {
    const time = Buffer.alloc(8);
    time.writeBigUInt64BE(BigInt(seconds));
    const signature = sign(null, Buffer.from(`cosignature/v1\ntime ${seconds}\n${text}`), privateKey);
    return `— ${name} ${Buffer.concat([keyId, time, signature]).toString('base64')}\n`;
  };
  const answer = (body: string): { status: number; text: string } => {
    const blank = body.indexOf('\n\n');
    const [old = '', ...path] = body.slice(0, blank).split('\n');
    const { text } = parseNote(body.slice(blank + 2));
    const { origin, size, root } = parseCheckpoint(text);
    const known = cosigned.get(origin);
    if (old !== `old ${known?.size ?? 0}`) return { status: 409, text: `${known?.size ?? 0}\n` };
    const proof = { oldSize: known?.size ?? 0, newSize: size, oldRoot: known?.root ?? root, newRoot: root };
    const isConsistent =
      known === undefined
        ? path.length === 0
        : verifyConsistency({ ...proof, path: path.map((hash) => Buffer.from(hash, 'base64')) });
    if (!isConsistent) return { status: 422, text: '' };
    cosigned.set(origin, { size, root });
    return { status: 200, text: line(text) };
  };
  const handle = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    let body = '';
    for await (const chunk of request) body += String(chunk);
    requests.push(body);
    if (misbehaviour !== undefined) return misbehaviour(response, body.slice(body.indexOf('\n\n') + 2));
    const { status, text } = answer(body);
    response.writeHead(status, status === 409 ? { 'Content-Type': 'text/x.tlog.size' } : {}).end(text);
  };
  const server = createServer((request, response) => void handle(request, response));
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    verifierKey: `${name}+${keyId.toString('hex')}+${encoded.toString('base64')}`,
    cosigned,
    requests,
    misbehave: (how) => void (misbehaviour = how),
    line,
    async close() {
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
    },
  };
}
