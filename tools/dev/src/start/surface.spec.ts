import { expect, it } from '@jest/globals';
import { parseStartOptions } from './start-options.ts';
import { checkPorts, portsOf, postgresPort, providerPort, refuseBlocked } from './surface.ts';

it.each([6000, 6697, 10_080])(
  'a start refuses the port %i, to which neither browsers nor fetch connect',
  async (port) => {
    const refused = expect.objectContaining({ message: expect.stringContaining('bad port') });
    await expect(fetch(`http://127.0.0.1:${port}`)).rejects.toMatchObject({ cause: refused });
    await expect(checkPorts([{ port, purpose: 'the provider', isHttp: true }])).rejects.toThrow(
      `Browsers refuse to connect to the port ${port}, for the provider. Choose others with --port-base N.`,
    );
  },
);

it('the ports of a start without options can all be reached: only PostgreSQL has one that browsers refuse', () => {
  const { portBase } = parseStartOptions([], { surfaces: [], env: {} });
  const http = [1, 2, 3, 4, 5].flatMap((number) => Object.values(portsOf(portBase, number)));
  const needed = [...http, providerPort(portBase)].map((port) => ({ port, purpose: 'a listener', isHttp: true }));
  const postgres = { port: postgresPort(portBase), purpose: 'PostgreSQL', isHttp: false };
  expect(() => refuseBlocked([...needed, postgres])).not.toThrow();
  expect(() => refuseBlocked([{ ...postgres, isHttp: true }])).toThrow('4190');
});
