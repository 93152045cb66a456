import { describe, expect, it } from '@jest/globals';
import { frameLocator, summariseProfile } from './cpu-profile.ts';

const frame = (functionName: string, url = '', lineNumber = 0, columnNumber = 0) => ({
  functionName,
  url,
  lineNumber,
  columnNumber,
});

/** One segment: the first column of the first line maps to the first line of the only source. */
const locate = frameLocator({
  bundle: '/checkout/apps/gateway/dist/main.js',
  root: '/checkout',
  map: {
    file: 'main.js',
    version: 3,
    sources: ['../../../libs/ledger/embedded/src/append-queue.ts'],
    sourcesContent: [],
    names: [],
    mappings: 'AAAA',
    sourceRoot: '',
  },
});
const ours = frame('flush', 'file:///checkout/apps/gateway/dist/main.js', 0, 0);

describe('summariseProfile', () => {
  it('attributes to each function the time until the next sample, and omits idle time', () => {
    const nodes = [
      { id: 1, callFrame: frame('(idle)') },
      { id: 2, callFrame: ours },
      { id: 3, callFrame: frame('(garbage collector)') },
      { id: 4, callFrame: ours },
    ];
    const profile = { nodes, samples: [2, 1, 3, 4, 2], timeDeltas: [50, 100, 1_000, 30, 200] };
    const { busyUs, modules, functions } = summariseProfile(profile, locate);
    expect(busyUs).toBe(330);
    expect(modules).toEqual([
      { name: 'libs/ledger/embedded', microseconds: 300 },
      { name: '(garbage collector)', microseconds: 30 },
    ]);
    expect(functions[0]?.name).toBe('flush (libs/ledger/embedded/src/append-queue.ts:1)');
  });

  it('attributes native code to the calling module, but not the garbage collector', () => {
    const nodes = [
      { id: 1, callFrame: ours, children: [2, 4] },
      { id: 2, callFrame: frame('apply'), children: [3] },
      { id: 3, callFrame: frame('writev') },
      { id: 4, callFrame: frame('(garbage collector)') },
      { id: 5, callFrame: frame('runMicrotasks') },
    ];
    const profile = { nodes, samples: [3, 4, 5, 5], timeDeltas: [0, 70, 20, 10] };
    const { modules, functions } = summariseProfile(profile, locate);
    expect(modules.map(({ name }) => name)).toEqual(['libs/ledger/embedded', '(garbage collector)', '(native)']);
    expect(functions[0]?.name).toBe('writev, called by flush (libs/ledger/embedded/src/append-queue.ts:1)');
  });

  it("attributes Node's work to the module that asked for it, and keeps the event loop's own", () => {
    const nodes = [
      { id: 1, callFrame: frame('onread', 'node:internal/stream_base_commons', 1), children: [2] },
      { id: 2, callFrame: ours, children: [3] },
      { id: 3, callFrame: frame('hash', 'node:internal/crypto/hash', 2) },
    ];
    const { modules } = summariseProfile({ nodes, samples: [3, 1, 1], timeDeltas: [0, 30, 10] }, locate);
    expect(modules).toEqual([
      { name: 'libs/ledger/embedded', microseconds: 30 },
      { name: 'node:internal/stream_base_commons', microseconds: 10 },
    ]);
  });
});

describe('frameLocator', () => {
  it.each([
    [frame('push', 'node:internal/streams/readable', 9), 'node:internal/streams', 'node:internal/streams/readable:10'],
    [frame('query', 'file:///checkout/node_modules/pg/lib/client.js', 4), 'pg', 'pg/lib/client.js:5'],
    [frame('b', 'file:///x/node_modules/a/node_modules/@s/b/c.js', 4), '@s/b', '@s/b/c.js:5'],
    [
      frame('x', 'file:///checkout/apps/gateway/src/data/x.ts', 0),
      'apps/gateway/src/data',
      'apps/gateway/src/data/x.ts:1',
    ],
  ])('finds the owner of %j', (callFrame, module, at) => {
    expect(locate(callFrame)).toEqual({ module, at });
  });
});
