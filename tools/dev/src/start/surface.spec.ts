import { expect, it } from '@jest/globals';
import { checkPorts } from './surface.ts';

it.each([6000, 6697, 10_080])(
  'a start refuses the port %i, to which neither browsers nor fetch connect',
  async (port) => {
    const refused = expect.objectContaining({ message: expect.stringContaining('bad port') });
    await expect(fetch(`http://127.0.0.1:${port}`)).rejects.toMatchObject({ cause: refused });
    await expect(checkPorts([{ port, purpose: 'the provider' }])).rejects.toThrow(
      `Browsers refuse to connect to the port ${port}, for the provider. Choose others with --port-base N.`,
    );
  },
);
