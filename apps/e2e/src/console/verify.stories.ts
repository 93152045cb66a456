import { createHash, generateKeyPairSync, randomUUID, sign } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { describe, expect, it } from '@jest/globals';
import { broken, vectors, type Vector } from '@sealgate/verify/vectors';
import type { Page, Request } from 'playwright-core';
import { FIELDS, judged, saidOf, type Dropped } from './judged-files.ts';
import { looksOf } from './page-looks.ts';
import type { ConsoleStack } from './start-stack.ts';

const ONE_FILE = pathToFileURL(resolve(import.meta.dirname, '../../../console/dist/web/verify.html')).href;
/** A proof and the trust file of its channel, recorded on a real network. */
export const RECORDED = resolve(import.meta.dirname, '../../../../tools/verify/src/fabric/fixtures/recorded.json');
const TOO_LARGE_BYTES = 50_000_000;

type Place = { id: string; channel: string };
/** Globals of a browser that Node does not have. */
type BrowserTypes = Record<'DataTransfer', new () => { items: { add(file: File): void } }> &
  Record<'DragEvent', new (type: string, init: object) => Event>;

/** Drops a file of 50 MB on the page, beside the field and then on it. */
async function dropTooMuch(page: Page, where: string): Promise<void> {
  await page.locator(where).evaluate((element, bytes) => {
    const { DataTransfer, DragEvent } = globalThis as unknown as BrowserTypes;
    const transfer = new DataTransfer();
    transfer.items.add(new File([new Uint8Array(bytes)], 'large.json'));
    element.dispatchEvent(new DragEvent('drop', { bubbles: true, cancelable: true, dataTransfer: transfer }));
  }, TOO_LARGE_BYTES);
}

/** Verify in the console and as a file from disk: the same verdicts as sealgate-verify, without network requests. */
export function verifyStories(stack: () => ConsoleStack): void {
  describe.each([
    ['in the console', () => `${stack().url}/verify`],
    ['as one file from a disk', () => ONE_FILE],
  ])('Verify %s', (where, address) => {
    const open = async (work: (page: Page, asked: () => string[]) => Promise<void>): Promise<void> => {
      const asked: string[] = [];
      await stack().visit(undefined, address(), async (page) => {
        const note = (request: Request) => asked.push(request.url());
        page.on('request', note);
        await page.getByText('more keys, and signatures').click();
        await work(page, () => asked.filter((url) => !url.startsWith('blob:')));
        page.off('request', note);
      });
    };

    it('judges as sealgate-verify does', async () => {
      await open(async (page) => {
        const all = vectors.map(({ command: [kind], ...vector }) => ({ ...vector, kind }));
        const { said, meant } = await saidOf(page, all);
        expect(said).toEqual(meant);
      });
    }, 240_000);

    it('verifies what the running services serve, names the failed check where one byte was changed, and sends no request', async () => {
      const files = await filesOf(stack());
      await open(async (page, asked) => {
        const { said, meant } = await saidOf(page, files);
        expect(said).toEqual(meant);
        const before = asked().length;
        await judged(
          page,
          files.find(({ failed }) => failed.length > 0)!,
        );
        expect(asked().slice(before)).toEqual([]);
        if (where === 'in the console') expect(await looksOf(page, stack(), 'verify')).toEqual([]);
        else await page.screenshot({ path: join(stack().pictures, 'verify-file.png'), fullPage: true });
      });
    }, 240_000);

    it('judges what peers of Fabric signed by a trust file that is dropped beside it, and keeps that', async () => {
      const recorded = JSON.parse(readFileSync(RECORDED, 'utf8')) as { proof: object; trust: { channel: string } };
      const [proof, trust] = [JSON.stringify(recorded.proof), JSON.stringify(recorded.trust)];
      const elsewhere = JSON.stringify({ ...recorded.trust, chaincodes: [] });
      await open(async (page) => {
        const fabric = { kind: 'fabric', pins: {} };
        const { said, meant } = await saidOf(page, [
          { ...fabric, title: 'both', files: { 'proof.json': proof, 'trust.json': trust }, failed: [] },
          { ...fabric, title: 'the proof alone, later', files: { 'proof.json': proof }, failed: [] },
          {
            ...fabric,
            title: 'other trust',
            files: { 'proof.json': proof, 't.json': elsewhere },
            failed: ['chaincode'],
          },
        ]);
        expect(said).toEqual(meant);
      });
    }, 60_000);

    it('refuses 50 MB with a message, reports unknown formats, and keeps the page when a file is dropped beside the field', async () => {
      await open(async (page) => {
        await page.getByLabel(FIELDS.logKeys).fill('typed');
        await dropTooMuch(page, 'h1');
        expect(await page.getByLabel(FIELDS.logKeys).inputValue()).toBe('typed');
        await dropTooMuch(page, 'label:has(input[type=file])');
        await page.getByText('50.0 MB').waitFor();
        await page.getByText('It was not read').waitFor();
        const unknown = { name: 'photo.jpg', mimeType: '', buffer: Buffer.from([0xff, 0xd8, 0xff]) };
        await page.locator('input[type=file]').setInputFiles(unknown);
        await page.getByText('photo.jpg is not JSON').waitFor();
        await page
          .locator('input[type=file]')
          .setInputFiles(Array.from({ length: 21 }, (_, index) => ({ ...unknown, name: `${index}.jpg` })));
        await page.getByText('Only 20 files are checked at once').waitFor();
      });
    }, 60_000);

    it('reports which key is missing, and an invalid key', async () => {
      const proof = vectors.find(({ command: [kind] }) => kind === 'receipt')!;
      const delivery = vectors.find(({ command: [kind] }) => kind === 'delivery')!;
      await open(async (page) => {
        const messageFor = async (dropped: Pick<Vector, 'files' | 'pins'>, kind = 'unkeyed') =>
          judged(page, { ...dropped, title: '', failed: [], kind });
        expect(await messageFor({ ...proof, pins: {} })).toContain('paste the key of the log above');
        expect(await messageFor({ ...proof, pins: { logKeys: 'nonsense' } }, 'unreadable')).toContain(
          'Line 1 of the keys',
        );
        expect(await messageFor({ ...delivery, pins: {} })).toContain('paste the public key of the sender');
      });
    }, 60_000);
  });
}

/** Each kind of file that the running services serve, intact and with one character changed. */
async function filesOf({ dev }: ConsoleStack): Promise<Dropped[]> {
  const [gateway, peer, risks, gate] = ['ingest-gateway', 'ledger-peer', 'risk-partner', 'case-gate'].map(
    (name) => dev.surfaces[name]!,
  );
  const ask = async (url: string, headers: Record<string, string>, body?: object) => {
    const method = body === undefined ? 'GET' : 'POST';
    const all = { ...(body && { 'content-type': 'application/json' }), ...headers };
    const init = { method, headers: all, ...(body && { body: JSON.stringify(body) }) };
    const response = await fetch(url, { ...init, signal: AbortSignal.timeout(20_000) });
    const text = await response.text();
    if (!response.ok) throw new Error(`${url}: ${response.status} ${text}`);
    return { text, headers: response.headers };
  };
  const bearer = (key = ''): Record<string, string> => ({ authorization: `Bearer ${key}` });
  const admin = (path: string, body?: object) =>
    ask(`${gateway!.adminUrl}/admin/v1${path}`, bearer(dev.adminToken), body);
  const logKeys = dev.ledger.verifierKey;
  const networkId = `verify-${randomUUID().slice(0, 8)}`;
  const channel = `${networkId}.main`;
  await admin('/networks', { networkId, name: 'Verify', channels: ['main'] });
  const minted = JSON.parse((await admin(`/networks/${networkId}/keys`, { label: 'Verify' })).text) as {
    rawKey: string;
  };
  const write = (id: string) =>
    ask(
      `${gateway!.url}/${networkId}`,
      { 'x-api-key': minted.rawKey },
      { id, type: 'demo.order', data: { total: 1, note: 'Zürich' } },
    );
  const proofOf = async (id: string) => (await admin(`/ledger/channels/${channel}/records/${id}/proof`)).text;
  const checkpoint = async () =>
    (await ask(`${peer!.url}/ledger/${channel}/checkpoint`, { 'x-api-key': dev.demo.keys['peer']! })).text;
  const tile = async (width: number): Promise<Buffer> => {
    const url = `${peer!.url}/ledger/${channel}/tile/0/000.p/${width}`;
    const response = await fetch(url, { headers: { 'x-api-key': dev.demo.keys['peer']! } });
    return Buffer.from(await response.arrayBuffer());
  };

  for (const id of ['verify-1', 'verify-2']) await write(id);
  const answer = (await write('verify-3')).text;
  const proof = await proofOf('verify-3');
  const older = await checkpointAt(checkpoint, 3);
  for (const id of ['verify-4', 'verify-5', 'verify-6']) await write(id);
  const newer = await checkpointAt(checkpoint, 6);
  const leaves = await tile(6);
  const path = JSON.stringify(consistency(leaves, 3));

  const envelope = await ask(`${risks!.url}/api/v1/proofs?limit=2`, bearer(dev.demo.keys['partner_read']));
  const signature = envelope.headers.get('evidence-signature') ?? '';
  const keysOfRisks = (await ask(`${risks!.url}/.well-known/jwks.json`, {})).text;
  const { items } = JSON.parse(
    (await ask(`${gate!.adminUrl}/admin/v1/cases?status=sealed&limit=1`, bearer(dev.adminToken))).text,
  ) as { items: { case_id: string }[] };
  const packPath = `/admin/v1/cases/${items[0]!.case_id}/assessor-pack`;
  const pack = (await ask(`${gate!.adminUrl}${packPath}`, { ...bearer(dev.adminToken), accept: 'application/json' }))
    .text;
  const keysOfPacks = (await ask(`${gate!.url}/.well-known/jwks.json`, {})).text;
  const { record, body, senderKeys } = await signedDelivery({ admin, networkId, gatewayUrl: gateway!.url, ask });

  const pair = { 'older.txt': older, 'newer.txt': newer };
  const packed = { logKeys, jwks: keysOfPacks };
  const both = (
    kind: string,
    title: string,
    { pins, whole, changed, failed }: { pins: Vector['pins']; whole: Files; changed: Files; failed: string[] },
  ): Dropped[] => [
    { kind, title, pins, files: whole, failed: [] },
    { kind, title: `${title}, changed`, pins, files: { ...whole, ...changed }, failed },
  ];
  return [
    ...both('receipt', 'a proof', {
      pins: { logKeys },
      whole: { 'proof.json': proof },
      changed: { 'proof.json': broken(proof, '"dataHash":"') },
      failed: ['leaf'],
    }),
    ...both('answer', 'an answer', {
      pins: { logKeys },
      whole: { 'answer.json': answer, 'proof.json': proof },
      changed: { 'answer.json': broken(answer, '"transactionId":"') },
      failed: ['answer'],
    }),
    ...both('checkpoint', 'a checkpoint', {
      pins: { logKeys },
      whole: { 'newer.txt': newer },
      changed: { 'newer.txt': broken(newer, '\n6\n') },
      failed: ['signature'],
    }),
    ...both('consistency', 'two checkpoints', {
      pins: { logKeys },
      whole: { ...pair, 'path.json': path },
      changed: { 'path.json': broken(path, '["') },
      failed: ['consistency'],
    }),
    ...both('envelope', 'an envelope', {
      pins: { logKeys, jwks: keysOfRisks, signature },
      whole: { 'proofs.json': envelope.text },
      changed: { 'proofs.json': broken(envelope.text, '"sha256":"') },
      failed: ['hash', 'signed'],
    }),
    ...both('pack', 'a pack', {
      pins: packed,
      whole: { 'pack.json': pack },
      changed: { 'pack.json': broken(pack, '"actor":"') },
      failed: ['pack hash', 'pack signature', 'timeline'],
    }),
    ...both('delivery', 'a delivery', {
      pins: { senderKeys },
      whole: { 'record.json': record, 'delivery.json': body },
      changed: { 'delivery.json': broken(body, '"total":') },
      failed: ['body', 'signed bytes', 'signature'],
    }),
  ];
}

type Files = Readonly<Record<string, string>>;

/** Polls until a checkpoint of this size is signed, in the background. */
async function checkpointAt(read: () => Promise<string>, size: number): Promise<string> {
  for (let attempt = 0; attempt < 100; attempt += 1) {
    const note = await read().catch(() => '');
    if (note.includes(`\n${size}\n`)) return note;
    await new Promise((done) => setTimeout(done, 100));
  }
  throw new Error(`There is no checkpoint of ${size} entries.`);
}

/** A consistency proof by the definition of RFC 6962, section 2.1.2, over the leaf hashes of a tree. */
function consistency(leaves: Buffer, oldSize: number): string[] {
  const all = Array.from({ length: leaves.length / 32 }, (_, index) => leaves.subarray(32 * index, 32 * index + 32));
  const split = (count: number): number => 2 ** Math.floor(Math.log2(count - 1));
  const root = (nodes: readonly Buffer[]): Buffer => {
    if (nodes.length === 1) return nodes[0]!;
    const at = split(nodes.length);
    const [left, right] = [root(nodes.slice(0, at)), root(nodes.slice(at))];
    return createHash('sha256')
      .update(Buffer.concat([Buffer.of(1), left, right]))
      .digest();
  };
  const sub = (size: number, nodes: readonly Buffer[], isWhole: boolean): Buffer[] => {
    if (size === nodes.length) return isWhole ? [] : [root(nodes)];
    const at = split(nodes.length);
    if (size <= at) return [...sub(size, nodes.slice(0, at), isWhole), root(nodes.slice(at))];
    return [...sub(size - at, nodes.slice(at), false), root(nodes.slice(0, at))];
  };
  return sub(oldSize, all, true).map((hash) => hash.toString('hex'));
}

interface Sender {
  readonly admin: (path: string, body?: object) => Promise<{ text: string }>;
  readonly networkId: string;
  readonly gatewayUrl: string;
  readonly ask: (url: string, headers: Record<string, string>, body?: object) => Promise<{ text: string }>;
}

/** A Standard Webhooks delivery signed with a private key (`v1a`), and the record made from it. */
async function signedDelivery({ admin, networkId, gatewayUrl, ask }: Sender) {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519');
  const point = Buffer.from(publicKey.export({ format: 'jwk' }).x ?? '', 'base64url');
  const senderKeys = `whpk_${point.toString('base64')}`;
  const { path } = JSON.parse(
    (
      await admin(`/networks/${networkId}/sources`, {
        name: 'Signed',
        scheme: 'standard-webhooks',
        secrets: [{ id: 'k1', value: senderKeys }],
      })
    ).text,
  ) as { path: string };
  const sent = { type: 'order.paid', total: 12 };
  const body = JSON.stringify(sent);
  const [id, time] = [`msg_${randomUUID()}`, Math.floor(Date.now() / 1000)];
  const signature = sign(null, Buffer.from(`${id}.${time}.${body}`), privateKey).toString('base64');
  const headers = { 'webhook-id': id, 'webhook-timestamp': String(time), 'webhook-signature': `v1a,${signature}` };
  const answer = JSON.parse((await ask(`${gatewayUrl}${path}`, headers, sent)).text) as { records: Place[] };
  const { id: recordId, channel } = answer.records[0]!;
  const record = (await admin(`/ledger/channels/${channel}/records/${recordId}`)).text;
  return { record, body, senderKeys };
}
