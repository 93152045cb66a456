import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { commandLineOf } from '@sealgate/local-services';
import { until } from '../until.ts';
import { connectClient } from '@sealgate/local-services/fabric';
import { startStandInPeer } from './start-stand-in-peer.ts';

const program = join(import.meta.dirname, '../../../../apps/ledger-chaincode/src/main.ts');

let directory: string;
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'chaincode-process-'));
});
afterAll(() => rmSync(directory, { recursive: true }));

describe('a chaincode of the stand-in peer', () => {
  it('that does not start is reported with its output, and leaves nothing behind', async () => {
    const broken = join(directory, 'broken.mjs');
    writeFileSync(broken, 'console.error("no such setting"); process.exit(3);');
    await expect(startStandInPeer({ chaincodes: [{ name: 'broken', program: broken }] })).rejects.toThrow(
      /Chaincode broken did not start: no such setting/,
    );
  }, 30_000);

  it('that hangs fails its transaction after the timeout', async () => {
    const peer = await startStandInPeer({ chaincodes: [{ name: 'records', program }], executeTimeoutMs: 300 });
    const { gateway, close } = connectClient(peer);
    const contract = gateway.getNetwork('main').getContract('records');
    peer.chaincode.freeze('records');
    await expect(contract.evaluateTransaction('read', 'a')).rejects.toMatchObject({
      code: 10,
      details: [{ message: expect.stringMatching(/error in simulation.*timeout expired while executing transaction/) }],
    });
    peer.chaincode.thaw('records');
    expect(await contract.evaluateTransaction('read', 'a')).toHaveLength(0);
    close();
    await peer.close();
  }, 30_000);

  it('ends with the process that started it, even by SIGKILL, and its folder is removed', async () => {
    const owner = join(directory, 'owner.mjs');
    const standIn = JSON.stringify(join(import.meta.dirname, 'start-stand-in-peer.ts'));
    writeFileSync(
      owner,
      `import { startStandInPeer } from ${standIn};
      const peer = await startStandInPeer({ chaincodes: [{ name: 'records', program: ${JSON.stringify(program)} }] });
      console.log(JSON.stringify({ directory: peer.directory, pid: peer.chaincode.pid('records') }));
      setInterval(() => undefined, 1_000);`,
    );
    const child = spawn(process.execPath, [owner], { stdio: ['ignore', 'pipe', 'inherit'] });
    const [line] = (await once(child.stdout, 'data')) as [Buffer];
    const made = JSON.parse(line.toString()) as { directory: string; pid: number };
    expect(commandLineOf(made.pid)).toContain('main.ts');
    child.kill('SIGKILL');
    await until(() => !existsSync(made.directory) && !(commandLineOf(made.pid) ?? '').includes('main.ts'));
  }, 30_000);
});
