import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from '@jest/globals';
import { freePortBase } from '@sealgate/fabric-devnet';
import { organizationStories } from './fabric-organizations.ts';
import { describeFabric } from './fabric-stories.ts';
import { realNetwork } from './harness/fabric-real.ts';

const tools = fileURLToPath(new URL('../../../tools/dev/src/main.ts', import.meta.url));

/** The folder of a network made by `fabric:up --with-basic`; set by `npm run test:fabric`. */
const data = process.env['SEALGATE_FABRIC'];

if (data === undefined) {
  describe('A real Fabric network', () => {
    it.skip('is needed: `npm run test:fabric`', () => undefined);
  });
} else {
  describeFabric('A real Fabric network', () => realNetwork(data));
  organizationStories(() => realNetwork(data));
  describe('npm run fabric:demo', () => {
    it('writes a thousand assets on the network, and reads them back', async () => {
      const { code, said } = await runDemo(data);
      expect({ code, said }).toEqual({ code: 0, said: expect.stringContaining('1000 of 1000 read back') });
    }, 300_000);
  });
}

/** As a user runs it, on its own ports; a database of it is left in the folder of the network. */
async function runDemo(folder: string): Promise<{ code: number | null; said: string }> {
  const parameters = ['fabric:demo', '--data', folder, '--port-base', String(await freePortBase())];
  const child = spawn(process.execPath, [tools, ...parameters], { stdio: ['ignore', 'pipe', 'pipe'] });
  let said = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (said += chunk.toString()));
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, said };
}
