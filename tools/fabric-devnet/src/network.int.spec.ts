import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { messageOf } from './devnet-error.ts';
import { down, findFabricCommands, openFaults, status, up, type NetworkFaults, type UpOptions } from './index.ts';
import { workspaceRoot } from './options.ts';
import { canRead, proveCommits } from './probe.ts';
import { isListening } from './running-roles.ts';

// Not in Docker: a test run must not pull images.
const missing = await findFabricCommands({ env: process.env, hasDocker: async () => false }).then(
  () => undefined,
  (error: unknown) => messageOf(error),
);
if (missing !== undefined) process.stderr.write(`SKIPPED: the tests on a real Fabric network. ${missing}\n`);

const data = join(tmpdir(), `sealgate-fabric-${randomUUID()}`, 'net');
// Away from the default ports and those of parallel runs, and below the ephemeral range.
const portBase = 20_000 + (process.pid % 120) * 100;
const app = resolve(workspaceRoot, 'apps/ledger-chaincode');
const options: UpOptions = {
  data,
  portBase,
  batchTimeoutMs: 100,
  env: process.env,
  now: Date.now,
  tell: () => undefined,
};

/** Runs `npm run fabric:<command>`. */
function command(
  [name, ...parameters]: readonly string[],
  env: NodeJS.ProcessEnv = process.env,
): Promise<{ readonly code: number; readonly stdout: string; readonly stderr: string }> {
  const program = resolve(workspaceRoot, 'tools/dev/bootstrap.mjs');
  return new Promise((done) => {
    execFile(process.execPath, [program, `fabric:${name}`, ...parameters], { env }, (error, stdout, stderr) =>
      done({ code: typeof error?.code === 'number' ? error.code : error === null ? 0 : -1, stdout, stderr }),
    );
  });
}

describe('the commands without a network', () => {
  it('exit with 2 if commands are missing, with how to get them', async () => {
    const { code, stderr } = await command(['up', '--data', data], { PATH: '/nowhere' });
    expect(code).toBe(2);
    expect(stderr).toMatch(/^Fabric's commands \(peer, orderer, configtxgen, cryptogen\) are not on the PATH[^\n]*\n$/);
    expect(existsSync(data)).toBe(false);
  });

  it('exit with 3 for status, and with 0 for down', async () => {
    expect(await command(['status', '--data', data])).toMatchObject({
      code: 3,
      stdout: `There is no network in ${data}.\n`,
    });
    expect(JSON.parse((await command(['status', '--json', '--data', data])).stdout)).toMatchObject({
      state: 'absent',
      roles: [],
    });
    expect(await command(['down', '--data', data])).toMatchObject({
      code: 0,
      stdout: `No network is running in ${data}.\n`,
    });
  });

  it('exit with 1 and one sentence for an unknown option', async () => {
    const { code, stderr } = await command(['up', '--frehs']);
    expect(code).toBe(1);
    expect(stderr.trim().split('\n')).toHaveLength(1);
  });
});

(missing === undefined ? describe : describe.skip)('a network', () => {
  let faults: NetworkFaults;

  beforeAll(async () => {
    await up(options);
    faults = await openFaults({ data, env: process.env });
  }, 120_000);
  afterAll(async () => {
    await down({ data, env: process.env });
    rmSync(join(data, '..'), { recursive: true, force: true });
  });

  it('has committed on every channel through every organisation', async () => {
    expect(await canRead(faults.plan)).toBe(true);
    expect(await status({ data, env: process.env })).toMatchObject({ state: 'up' });
  });

  it('writes connection files for clients', () => {
    const [north, south] = faults.plan.organizations;
    const read = (file: string) => JSON.parse(readFileSync(file, 'utf8'));
    expect(read(faults.plan.connectionFile)).toEqual(read(north!.connectionFile));
    expect(read(south!.connectionFile)).toMatchObject({
      mspId: 'SouthMSP',
      peers: [{ endpoint: `127.0.0.1:${portBase + 21}` }, { endpoint: `127.0.0.1:${portBase + 11}` }],
      channels: [{ name: 'both', holds: ['*'] }, { name: 'either' }],
    });
  });

  it('is left as it is by a second start, which exits with 0', async () => {
    const { code, stdout } = await command(['up', '--data', data]);
    expect(stdout).toContain('The network is already up.');
    expect(code).toBe(0);
  });

  it('keeps its ports, batch timeout and members for life', async () => {
    await expect(up({ ...options, portBase: portBase + 30 })).rejects.toThrow(`--port-base ${portBase}.`);
    await expect(up({ ...options, organizations: 3 })).rejects.toThrow('made with --organizations 2.');
    await expect(up({ ...options, mutualTls: true })).rejects.toThrow('made without --mutual-tls.');
    await expect(up({ ...options, batchTimeoutMs: 101 })).rejects.toThrow('add --fresh');
  });

  it('does not start with expired certificates', async () => {
    const later = Date.UTC(2100, 0, 1);
    await expect(up({ ...options, now: () => later })).rejects.toThrow(/^The certificate .* expired at .*--fresh\.$/);
    await expect(up({ ...options, now: () => 0 })).rejects.toThrow('is valid only from');
  });

  it('reports the loss of any program, and can be repaired', async () => {
    for (const role of ['peer-south', 'orderer', 'records-north'] as const) {
      await faults.kill(role);
      expect(await command(['status', '--data', data])).toMatchObject({
        code: 4,
        stdout: expect.stringMatching(`${role} .*down`),
      });
      await expect(faults.kill(role)).rejects.toThrow(`${role} is not running.`);
      expect((await up(options)).wasUp).toBe(false);
      expect(await status({ data, env: process.env })).toMatchObject({ state: 'up' });
    }
  }, 180_000);

  it('commits nothing on `both` while one peer is down', async () => {
    await faults.stop('peer-south');
    await expect(proveCommits(faults.plan, 2_000)).rejects.toThrow('No transaction commits on both through north');
    await faults.start('peer-south');
    await faults.mend();
  }, 120_000);

  it('gets no response from a frozen peer until it is thawed', async () => {
    await faults.freeze('peer-north');
    expect(await isListening(faults.plan.organizations[0]!.peer.port)).toBe(true);
    expect(await canRead(faults.plan, 1_000)).toBe(false);
    await faults.thaw('peer-north');
    await faults.mend();
  }, 120_000);

  it('keeps committed data across a restart', async () => {
    expect(await down({ data, env: process.env })).toBe(5);
    expect(await status({ data, env: process.env })).toMatchObject({ state: 'down' });
    const { wasUp } = await up(options);
    expect(wasUp).toBe(false);
    expect(await canRead(faults.plan)).toBe(true);
  }, 120_000);

  it('does not start if a port is in use, and names the port', async () => {
    const other = join(data, '../other');
    await expect(up({ ...options, data: other })).rejects.toThrow(
      `The port ${portBase + 1} is in use; orderer needs it.`,
    );
    expect(await status({ data: other, env: process.env })).toMatchObject({ state: 'down' });
  });

  it('accepts a second contract', async () => {
    const basic = join(app, 'test/basic-assets/main.ts');
    const { contracts } = await up({ ...options, programs: { basic } });
    expect(contracts).toEqual(['records', 'basic']);
    expect((await up(options)).wasUp).toBe(true);
  });

  it('reports the last output of a contract that does not start, and accepts a working one', async () => {
    const records = join(data, '../absent.mjs');
    await expect(up({ ...options, programs: { records } })).rejects.toThrow(
      /^records-(north|south) exited: .*absent\.mjs/,
    );
    const { wasUp } = await up({ ...options, programs: { records: join(app, 'src/main.ts') } });
    expect(wasUp).toBe(false);
  });

  it('runs a further contract with private collections, and keeps it and them', async () => {
    const program = join(app, 'test/basic-assets/main.ts');
    const file = join(data, '../pins.json');
    const policy = "OR('NorthMSP.member','SouthMSP.member')";
    const numbers = { requiredPeerCount: 0, maxPeerCount: 1, blockToLive: 0 };
    writeFileSync(file, JSON.stringify([{ name: 'pins', policy, memberOnlyRead: true, ...numbers }]));
    const given = ['--with', `pinned=${program}`, '--collections', `pinned=${file}`];
    expect(await command(['up', '--data', data, ...given])).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/contracts +records, basic, pinned\n/),
    });
    expect((await up(options)).wasUp).toBe(true);
    expect(await status({ data, env: process.env })).toMatchObject({ state: 'up' });
    const again = await openFaults({ data, env: process.env });
    const asked = ['chaincode', 'query', '--channelID', 'both', '--name', 'pinned', '--ctor'];
    const [north] = again.plan.organizations;
    const env = {
      PATH: process.env['PATH'],
      FABRIC_CFG_PATH: north!.peer.configFolder,
      CORE_PEER_MSPCONFIGPATH: north!.user.mspFolder,
      FABRIC_LOGGING_SPEC: 'error',
    };
    const peer = await findFabricCommands({ env: process.env, hasDocker: async () => false });
    const said = await new Promise<string>((done) => {
      const args = [...asked, JSON.stringify({ Args: ['GetPin', 'pins', 'nobody'] })];
      execFile(peer.from === 'files' ? peer.files.peer : '', args, { env }, (_, stdout, stderr) =>
        done(stdout + stderr),
      );
    });
    // The collection exists: the contract has read from it.
    expect(said).toContain('the pin of nobody does not exist');
    writeFileSync(file, '[]');
    expect(await command(['up', '--data', data, ...given])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('add --fresh'),
    });
    expect(await command(['up', '--data', data, '--with', 'peer=/bin/true'])).toMatchObject({ code: 1 });
  }, 120_000);

  it('can be recreated with --fresh', async () => {
    const [north] = faults.plan.organizations;
    const before = readFileSync(north!.user.certFile, 'utf8');
    await up({ ...options, fresh: true });
    expect(readFileSync(north!.user.certFile, 'utf8')).not.toBe(before);
    expect((await status({ data, env: process.env })).roles.map(({ role }) => role)).not.toContain('basic-north');
  }, 120_000);
});
