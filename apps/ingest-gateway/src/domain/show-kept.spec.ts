import { describe, expect, it } from '@jest/globals';
import { formOf } from '../routes/hooks.ts';
import { readBody, type ReadBody } from './read-body.ts';
import { showKept } from './show-kept.ts';
import type { SourceSettings } from './source.ts';

const show = (
  body: string | Buffer,
  headers: readonly (readonly [string, string])[] = [],
  settings: SourceSettings = {},
) =>
  showKept({ read: readBody as ReadBody, formOf })(
    { headers: [['content-type', 'application/json'], ...headers], body: Buffer.from(body) },
    { settings, networkId: 'acme' },
  );

describe('a kept delivery is shown', () => {
  it('without sensitive members, at any depth and in any case, counted', async () => {
    expect(await show('{"a":[{"Password":"p"}],"SSN":"1","b":2}')).toMatchObject({
      body: '{"a":[{}],"b":2}',
      strippedFields: 2,
      whyHidden: null,
    });
  });

  it('without them also where it is not strict JSON', async () => {
    const { body } = await show('{"id":12345678901234567890,"pass\\u0077ord":"geheim"}');
    expect(body).toContain('12345678901234567890');
    expect(body).not.toContain('geheim');
  });

  it('with its headers, but for those that may hold a credential', async () => {
    const { headers } = await show(
      '{}',
      [
        ['x-hub-signature-256', 'sha256=00'],
        ['authorization', 'Bearer geheim'],
        ['x-gitlab-token', 'geheim'],
        ['x-api-key', 'geheim'],
        ['x-shared', 'geheim'],
      ],
      { token: { header: 'x-shared', prefix: '' } },
    );
    expect(headers).toEqual([
      { name: 'content-type', value: 'application/json' },
      { name: 'x-hub-signature-256', value: 'sha256=00' },
      { name: 'authorization', value: null },
      { name: 'x-gitlab-token', value: null },
      { name: 'x-api-key', value: null },
      { name: 'x-shared', value: null },
    ]);
  });

  it('not at all where it cannot be read, since it cannot be stripped then', async () => {
    expect(await show('{"password":"geheim"')).toMatchObject({
      body: null,
      whyHidden: expect.stringContaining('cannot'),
    });
    expect(await show(Buffer.from([0x22, 0xff, 0x22]))).toMatchObject({ body: null });
    const xml = showKept({ read: readBody as ReadBody, formOf })(
      { headers: [['content-type', 'application/xml']], body: Buffer.from('<password>geheim</password>') },
      { settings: {}, networkId: 'acme' },
    );
    expect(await xml).toMatchObject({ body: null, whyHidden: expect.stringContaining('media type') });
    expect(await show(JSON.stringify({ a: 'x'.repeat(262_144) }))).toMatchObject({ body: null });
  });
});
