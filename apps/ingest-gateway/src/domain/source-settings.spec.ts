import { describe, expect, it } from '@jest/globals';
import { AppError } from '@sealgate/errors';
import { createSource, changeSource, type NewSource, type SourceChange } from './manage-sources.ts';
import type { PresetName } from './schemes/presets.ts';
import type { GivenSettings, SignatureForm, Source, SourceSettings } from './source.ts';
import { templateParts } from './schemes/template.ts';
import { checkSettings, resolvePreset, settingsAfter } from './source-settings.ts';

const faultsOf = (work: () => unknown): string[] => {
  try {
    work();
    return [];
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return (error.faults ?? []).map(({ pointer, detail }) => `${pointer} ${detail}`);
  }
};

const hmacFaults = (signature: Partial<SignatureForm>, rest: GivenSettings = {}, hasPublicUrl = true): string[] =>
  faultsOf(() => {
    const { scheme, settings } = resolvePreset(
      { scheme: 'hmac' },
      { ...rest, signature: { header: 'x', ...signature } },
    );
    checkSettings(scheme, settings, { hasPublicUrl });
  });

describe('the settings of a new source', () => {
  it('are those of its preset, and each may be overridden', () => {
    const own = { signature: { timestampHeader: 'x-time', signed: '{timestamp}:{body}' }, type: 'alert' };
    expect(resolvePreset({ preset: 'grafana' }, own)).toEqual({
      scheme: 'hmac',
      settings: {
        type: 'alert',
        signature: {
          header: 'x-grafana-alerting-signature',
          algorithm: 'sha256',
          encoding: 'hex',
          prefix: '',
          ...own.signature,
        },
      },
    });
    expect(resolvePreset({ preset: 'gitlab' }, { typeFrom: '/object_kind' }).settings).toEqual({
      token: { header: 'x-gitlab-token', prefix: '' },
      deliveryIdFrom: 'header:x-gitlab-event-uuid',
      typeFrom: '/object_kind',
    });
  });

  it('need exactly one of scheme and preset', () => {
    expect(faultsOf(() => resolvePreset({}, {}))).toEqual([expect.stringContaining('/scheme')]);
    expect(faultsOf(() => resolvePreset({ scheme: 'github', preset: 'clerk' }, {}))).toHaveLength(1);
  });

  it.each<[string, Partial<SignatureForm>, GivenSettings?]>([
    ['the body', {}],
    ['words for the two most common templates', { signed: 'timestamp.body', timestampHeader: 'x-t' }],
    ['a list', { signatureMember: 'v1', timestampMember: 't', signed: '{timestamp}.{body}', separator: ';' }],
    ['a list without a timestamp', { signatureMember: 'v1' }],
    ['the id of a header', { signed: '{id}.{body}' }, { idFrom: 'header:x-id' }],
    ['an id before a colon', { signed: '{id}:{timestamp}{body}', timestampHeader: 'x-t' }, { idFrom: 'header:x-id' }],
    ['an id before the URL', { signed: '{id}{url}{body}' }, { idFrom: 'header:x-id' }],
    ['an id at the end', { signed: '{body}.{id}' }, { idFrom: 'header:x-id' }],
    ['method, URL and a line feed', { signed: '{method}\n{url}\n{body}' }],
  ])('may sign %s', (_what, form, rest = {}) => {
    expect(hmacFaults(form, rest)).toEqual([]);
  });

  it.each<[string, string, Partial<SignatureForm>, GivenSettings]>([
    ['signed {nonce} is not a placeholder', 'an unknown placeholder', { signed: '{nonce}{body}' }, {}],
    ['signed {Body} is not a placeholder', 'a placeholder in upper case', { signed: '{Body}{body}' }, {}],
    ['signed Braces', 'a brace', { signed: '{body}{' }, {}],
    ['signed Braces', 'nested braces', { signed: '{{body}}' }, {}],
    ['signed {body} is needed', 'no body', { signed: '{timestamp}', timestampHeader: 'x-t' }, {}],
    ['signed {body} is needed', 'the body twice', { signed: '{body}{body}' }, {}],
    ['timestampHeader Where', 'a timestamp from nowhere', { signed: '{timestamp}{body}' }, {}],
    [
      'timestampHeader Where',
      'two timestamps',
      { signed: '{timestamp}{body}', timestampHeader: 't', timestampMember: 't', signatureMember: 'v' },
      {},
    ],
    ['signed A timestamp proves', 'a timestamp that is not signed', { timestampHeader: 'x-t' }, {}],
    [
      'signatureMember timestampMember',
      'a member without a list',
      { signed: '{timestamp}{body}', timestampMember: 't' },
      {},
    ],
    [
      'timestampMember Signature',
      'one member for both',
      { signed: '{timestamp}{body}', timestampMember: 't', signatureMember: 't' },
      {},
    ],
    ['signed {id}', 'an id from the body, which is signed already', { signed: '{id}.{body}' }, { idFrom: '/id' }],
    ['signed {id} needs a del', 'an id that touches the body', { signed: '{id}{body}' }, { idFrom: 'header:x-id' }],
    ['signed {id} needs a del', 'an id behind the body', { signed: '{body}{id}' }, { idFrom: 'header:x-id' }],
    ['signed {id} needs a del', 'an id before a letter', { signed: '{id}x{body}' }, { idFrom: 'header:x-id' }],
    ['signed {id} needs a del', 'an id before a dash', { signed: '{id}-{body}' }, { idFrom: 'header:x-id' }],
    ['signed {id} needs a del', 'an id before the method', { signed: '{id}{method}{body}' }, { idFrom: 'header:x-id' }],
    [
      'signed {id} needs a del',
      'an id before a number of seconds',
      { signed: '{id}{timestamp}{body}', timestampHeader: 'x-t' },
      { idFrom: 'header:x-id' },
    ],
    ['secretEncoding A public key', 'an encoding of a public key', { algorithm: 'ed25519', secretEncoding: 'hex' }, {}],
  ])('are refused, with /signature/%s, for %s', (fault, _what, form, rest) => {
    expect(hmacFaults(form, rest)).toEqual([
      expect.stringMatching(new RegExp(`^/signature/${fault.replaceAll(/[{}]/g, '\\$&')}`)),
    ]);
  });

  it('may sign {url} only where PUBLIC_URL is set', () => {
    expect(hmacFaults({ signed: '{url}{body}' }, {}, false)).toEqual([expect.stringContaining('PUBLIC_URL')]);
  });

  it('never take a record part from the header of the credential', () => {
    const { scheme, settings } = resolvePreset({ preset: 'postmark' }, { deliveryIdFrom: 'header:authorization' });
    expect(faultsOf(() => checkSettings(scheme, settings, { hasPublicUrl: true }))).toEqual([
      expect.stringContaining('/deliveryIdFrom'),
    ]);
  });

  it('remember what a raised tolerance was before, until it is set to something else', () => {
    const raised = settingsAfter({ toleranceSeconds: 60 }, { toleranceSeconds: 900, usualToleranceSeconds: 60 });
    expect(raised).toEqual({ toleranceSeconds: 900, usualToleranceSeconds: 60 });
    expect(settingsAfter(raised, { type: 'alert' })).toEqual({ ...raised, type: 'alert' });
    for (const toleranceSeconds of [60, 1200])
      expect(settingsAfter(raised, { toleranceSeconds })).toEqual({ toleranceSeconds });
    expect(settingsAfter(raised, { toleranceSeconds: null })).toEqual({});
  });

  it.each([
    [{ toleranceSeconds: 900, usualToleranceSeconds: 899 }, []],
    [{ toleranceSeconds: 900, usualToleranceSeconds: 900 }, ['/usualToleranceSeconds It is what']],
    [{ usualToleranceSeconds: 299 }, []],
    [{ usualToleranceSeconds: 300 }, ['/usualToleranceSeconds It is what']],
  ])('%j have these faults: %j', (settings, faults) => {
    const found = faultsOf(() => checkSettings('github', settings, { hasPublicUrl: true }));
    expect(found).toEqual(faults.map((fault) => expect.stringContaining(fault)));
  });

  it('after a change have the defaults of a new signature', () => {
    const before: SourceSettings = { typeFrom: '/a', toleranceSeconds: 5 };
    expect(settingsAfter(before, { typeFrom: null, signature: { header: 'x-sig' } })).toEqual({
      toleranceSeconds: 5,
      signature: { header: 'x-sig', algorithm: 'sha256', encoding: 'hex', prefix: '', signed: '{body}' },
    });
    expect(faultsOf(() => settingsAfter(before, { token: { prefix: 'x' } }))).toEqual([
      '/token/header The header is needed.',
    ]);
  });
});

describe('a template', () => {
  it('of any text is read as what it says, or not at all', () => {
    // A small generator, so that a failure can be repeated: the words are those that a parser could confuse.
    const words = ['{', '}', '{body}', '{timestamp}', '{}', '.', ':', 'body', '{ body }', '\n', 'ä'];
    for (let seed = 0; seed < 20_000; seed += 1) {
      let text = '';
      for (let rest = seed; rest > 0; rest = Math.floor(rest / words.length)) text += words[rest % words.length];
      const parts = templateParts(text);
      const written = parts?.map((part) => ('literal' in part ? part.literal : `{${part.name}}`)).join('');
      expect(written ?? text).toBe(text);
      const literals = text.replaceAll(/\{[^{}]*\}/g, '');
      expect(parts === undefined).toBe(/[{}]/.test(literals));
    }
  });
});

const ports = (source?: Source) => ({
  sources: {
    insert: async () => 'made' as const,
    find: async () => source,
    list: { count: async () => 0, rows: async () => [] },
    update: async (_network: string, _id: string, { change }: { change: (source: Source) => Source }) =>
      source === undefined ? undefined : change(source),
    delete: async () => 'missing' as const,
  },
  channelsOf: async () => ['main'],
  seal: (value: string) => value,
  hasPublicUrl: false,
  mostBytes: 26_214_400,
  now: () => 0,
});

const newSource = (secrets: NewSource['secrets'], preset: PresetName = 'github') =>
  createSource(
    ports(),
    { networkId: 'acme', name: 'A', enabled: true, secrets, ...resolvePreset({ preset }, {}) },
    () => async () => undefined,
  );

const changed = (source: Source, change: SourceChange) =>
  changeSource(
    ports(source),
    { networkId: 'acme', sourceId: source.sourceId },
    { change, also: async () => undefined },
  );

describe('a secret with white space at its ends', () => {
  const plain = 'a-secret-of-somebody';
  const whsec = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';

  it.each([
    ['clerk', `${whsec} `, 'at its end;'],
    ['clerk', ` ${whsec}`, 'at its beginning;'],
    ['github', `${plain}\n`, 'at its end;'],
    ['github', `\t${plain}\u00a0`, 'at its beginning and its end;'],
    ['gitlab', `${plain} `, 'at its end;'],
    ['sendgrid', 'MFkwEwYHKoZIzj0CAQYI ', 'at its end;'],
  ] as const)('is refused when it is set, for %s: %j', async (preset, value, detail) => {
    const fault = {
      pointer: '/secrets/0/value',
      detail: expect.stringContaining(`white space (such as a space or a line break) ${detail}`),
    };
    await expect(newSource([{ id: 'k1', value }], preset)).rejects.toMatchObject({ faults: [fault] });
  });

  it('of basic credentials needs a colon', async () => {
    const fault = { pointer: '/secrets/0/value', detail: expect.stringContaining('`user:password`') };
    await expect(newSource([{ id: 'k1', value: plain }], 'postmark')).rejects.toMatchObject({ faults: [fault] });
    await expect(newSource([{ id: 'k1', value: `user:${plain}` }], 'postmark')).resolves.toMatchObject({});
  });

  it('is refused when it is added', async () => {
    const source = await newSource([{ id: 'k1', value: plain }]);
    const secrets = [{ id: 'k1' }, { id: 'k2', value: `${plain} ` }];
    await expect(changed(source, { settings: {}, secrets })).rejects.toMatchObject({
      faults: [{ pointer: '/secrets/1/value' }],
    });
  });
});

describe('a change of the signature', () => {
  it('to another form of secrets needs them again, because the kept ones would verify nothing', async () => {
    const source: Source = {
      ...(await newSource([{ id: 'k1', value: 'a-secret-of-somebody' }])),
      ...resolvePreset({ scheme: 'hmac' }, { signature: { header: 'x-sig' } }),
    };
    const settings = { signature: { header: 'x-sig', secretEncoding: 'hex' } } as const;
    await expect(changed(source, { settings })).rejects.toMatchObject({ faults: [{ pointer: '/secrets/0/value' }] });
    const secrets = [{ id: 'k1', value: '00'.repeat(16) }];
    expect(await changed(source, { settings, secrets })).toMatchObject({ secrets: [{ id: 'k1' }] });
    expect(await changed(source, { settings: { signature: { header: 'x-other' } } })).toMatchObject({
      secrets: source.secrets,
    });
  });
});
