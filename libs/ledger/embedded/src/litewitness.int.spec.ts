import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { Writable } from 'node:stream';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import {
  checkPolicy,
  generateNoteKey,
  noteSigner,
  noteVerifier,
  parseCheckpoint,
  parseNote,
  parsePolicy,
  type LogPolicy,
} from '@sealgate/merkle';
import { createLog } from '@sealgate/observability';
import { until } from '@sealgate/testing';
import { askWitness, type WitnessOutcome } from './ask-witness.ts';
import { checkedCheckpoints } from './checked-checkpoint.ts';
import { openTestLedger, ORIGIN, type TestLedger } from './testing/open-test-ledger.ts';
import { Witnessing } from './witnessing.ts';

/** The unmodified witness of torchwood. It is built once per machine, if Go and OpenSSH are available. */
const VERSION = 'v0.9.0';
const NAME = 'witness.test/lite';
const tools = join(tmpdir(), `sealgate-go-${userInfo().uid}`);
const binary = join(tools, `litewitness-${VERSION}`, 'litewitness');

const missing = missingTools();
if (missing !== undefined)
  process.stderr.write(`SKIPPED: checkpoints are not cosigned by litewitness here: ${missing}\n`);
const itWithWitness = missing === undefined ? it : it.skip;

function missingTools(): string | undefined {
  try {
    for (const [command, ...args] of [
      ['ssh-keygen', '-?'],
      ['ssh-agent', '-?'],
    ] as const)
      found(command, args);
    if (existsSync(binary)) return undefined;
    mkdirSync(join(binary, '..'), { recursive: true });
    const env = { ...process.env, GOBIN: join(binary, '..') };
    execFileSync('go', ['install', `filippo.io/torchwood/cmd/litewitness@${VERSION}`], { env, timeout: 400_000 });
    return undefined;
  } catch (error) {
    return String(error).slice(0, 300);
  }
}

/** Any wrong option prints their usage and returns a distinct exit code. */
function found(command: string, args: readonly string[]): void {
  try {
    execFileSync(command, args, { stdio: 'ignore' });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') throw error;
  }
}

const CHANNEL = 'acme.main';
const LOG = `${ORIGIN}/${CHANNEL}`;
let test: TestLedger;
let folder: string;
let policy: LogPolicy;
const children: ChildProcess[] = [];

beforeAll(async () => {
  if (missing !== undefined) return;
  test = await openTestLedger();
  folder = mkdtempSync(join(tmpdir(), 'lw-'));
  const { point, fingerprint } = await agentWithKey();
  const port = await freePort();
  const args = ['-name', NAME, '-key', fingerprint, '-ssh-agent', join(folder, 'agent'), '-db', join(folder, 'db')];
  const witness = spawn(binary, [...args, '-listen', `127.0.0.1:${port}`], { stdio: 'ignore' });
  children.push(witness);
  const url = `http://127.0.0.1:${port}`;
  await until(() => fetch(url).then(Boolean, () => false), { timeoutMs: 20_000 });
  const encoded = Buffer.concat([Buffer.of(4), point]);
  const keyId = createHash('sha256').update(`${NAME}\n`).update(encoded).digest('hex').slice(0, 8);
  const key = `${NAME}+${keyId}+${encoded.toString('base64')}`;
  policy = parsePolicy(`log ${test.verifierKey}\nwitness lite ${key} ${url}\nquorum lite\n`);
}, 500_000);
afterAll(async () => {
  for (const child of children) child.kill();
  await test?.close();
  if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
});

/** The witness signs with a key held by an SSH agent. */
async function agentWithKey(): Promise<{ point: Buffer; fingerprint: string }> {
  const [key, socket] = [join(folder, 'key'), join(folder, 'agent')];
  execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', key]);
  children.push(spawn('ssh-agent', ['-D', '-a', socket], { stdio: 'ignore' }));
  await until(() => existsSync(socket));
  execFileSync('ssh-add', ['-q', key], { env: { ...process.env, SSH_AUTH_SOCK: socket } });
  // RFC 8709: the last 32 bytes are the public key.
  const blob = Buffer.from(readFileSync(`${key}.pub`, 'utf8').split(' ')[1]!, 'base64');
  const hash = createHash('sha256').update(blob).digest('base64').replace(/=+$/, '');
  return { point: blob.subarray(-32), fingerprint: `SHA256:${hash}` };
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const { port } = server.address() as AddressInfo;
  await new Promise((done) => server.close(done));
  return port;
}

/** Equivalent to `witnessctl add-log` and `add-key`. */
function addLog(): void {
  const database = new DatabaseSync(join(folder, 'db'));
  const empty = createHash('sha256').digest('base64');
  database.prepare('INSERT INTO log (origin, tree_size, tree_hash) VALUES (?, 0, ?)').run(LOG, empty);
  database.close();
  addKey(test.signer.ofLog(LOG).logKeys[0]!);
}

function addKey(key: string): void {
  const database = new DatabaseSync(join(folder, 'db'));
  database.prepare('INSERT INTO key (origin, key) VALUES (?, ?)').run(LOG, key);
  database.close();
}

async function sign(count: number): Promise<string> {
  for (let written = 0; written < count; written += 1) {
    const records = [{ id: `r${Math.random()}`, type: 'asset', owner: null, data: '{}', extra: null }];
    await test.ledger.append({ network: 'acme', channel: CHANNEL, note: '', records });
  }
  await test.integrator.catchUp(CHANNEL, Infinity);
  const [row] = await test.sql.query<{ note: string }>({
    text: 'SELECT ledger.checkpoint($1) AS note',
    values: [CHANNEL],
  });
  return row!.note;
}

itWithWitness(
  'litewitness cosigns a growing log, also for a new process, once the log is added',
  async () => {
    let nowMs = Date.now();
    const outcomes: WitnessOutcome[] = [];
    const open = () =>
      new Witnessing({
        sql: test.sql,
        policyOf: () => policy,
        waitMs: 10_000,
        restMs: 0,
        answerWithinMs: 10_000,
        now: () => nowMs,
        checked: checkedCheckpoints(ORIGIN, noteVerifier(test.verifierKey)),
        log: createLog({
          service: 'test',
          level: 'error',
          stream: new Writable({ write: (_chunk, _encoding, done) => done() }),
          now: Date.now,
        }),
        onAnswer: (_, outcome) => outcomes.push(outcome),
      });
    const verdict = async () =>
      checkPolicy(policy, (await test.ledger.checkpoint(CHANNEL)) ?? '', noteVerifier(test.verifierKey));
    const first = open();
    await first.begin();
    first.offer(CHANNEL, await sign(3));
    await until(() => first.short === 1);
    expect(outcomes).toEqual(['unknown_log']);
    addLog();
    nowMs += 60_000;
    await first.offerUnpublished();
    await until(async () => 'checkpoint' in (await verdict()));
    expect(await verdict()).toMatchObject({ checkpoint: { size: 3 } });
    first.offer(CHANNEL, await sign(300));
    await until(async () => (await verdict()).problem === undefined && first.short === 0);
    await until(async () => JSON.stringify(await verdict()).includes('"size":303'));
    await first.stop();
    const second = open();
    second.offer(CHANNEL, await sign(2));
    await until(async () => JSON.stringify(await verdict()).includes('"size":305'));
    await second.stop();
    expect(outcomes).toEqual(['unknown_log', 'cosigned', 'cosigned', 'cosigned']);
  },
  60_000,
);

itWithWitness(
  'litewitness, which pins the key of the log, follows a rotation of the root key while both sign',
  async () => {
    const next = generateNoteKey(ORIGIN);
    const { text } = parseNote((await test.ledger.checkpoint(CHANNEL))!);
    const checkpoint = parseCheckpoint(text);
    const outcomeOf = async (rootKeys: string) => {
      const answer = await askWitness(policy.witnesses[0]!, {
        checkpoint,
        note: noteSigner(rootKeys).ofLog(LOG).sign(text),
        oldSize: checkpoint.size,
        pathFrom: () => Promise.resolve([]),
        signal: AbortSignal.timeout(10_000),
        nowSeconds: Math.floor(Date.now() / 1000),
      });
      return answer.outcome;
    };
    expect(await outcomeOf(`${next.privateKey},${test.signingKey}`)).toBe('cosigned');
    expect(await outcomeOf(next.privateKey)).toBe('unknown_key');
    addKey(noteSigner(next.privateKey).ofLog(LOG).logKeys[0]!);
    expect(await outcomeOf(next.privateKey)).toBe('cosigned');
  },
  60_000,
);
