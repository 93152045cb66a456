import { describe, expect, it } from '@jest/globals';
import { renderScreen, type Screen } from './screen.ts';

const screen: Screen = {
  consoleUrl: undefined,
  surfaces: [
    {
      name: 'ingest-gateway',
      url: 'http://127.0.0.1:4104',
      opsUrl: 'http://127.0.0.1:4154',
      adminUrl: 'http://127.0.0.1:4204',
    },
  ],
  signIn: 'http://127.0.0.1:4180',
  postgres: '127.0.0.1:4190, data in /data/postgres',
  redis: undefined,
  keys: { ingest: 'the-key' },
  venueId: undefined,
  adminToken: 'the-token',
  examples: [{ what: 'Ask it', line: 'curl -sS http://127.0.0.1:4104' }],
  examplesFile: '/data/examples.txt',
  dataPath: '/data',
  detached: false,
};

describe('the screen', () => {
  it('shows addresses, keys, example commands and the data folder', () => {
    expect(renderScreen(screen)).toBe(`
Sealgate is ready. Ctrl-C stops it.

  ingest-gateway  http://127.0.0.1:4104  ops http://127.0.0.1:4154  admin http://127.0.0.1:4204
  Sign-in     http://127.0.0.1:4180 (development only, no password)
  PostgreSQL  127.0.0.1:4190, data in /data/postgres
  Redis       none: limits hold per process

Demo keys
  ingest       the-key
  admin token  the-token

Example commands:
  # Ask it
  curl -sS http://127.0.0.1:4104

More examples for each surface: /data/examples.txt
Data, keys and logs are in /data (addresses and keys for scripts: dev.json).
`);
  });

  it('shows no sign-in address without a provider', () => {
    expect(renderScreen({ ...screen, signIn: undefined })).not.toContain('Sign-in');
  });

  it('shows the console first, if it is running', () => {
    const consoleUrl = 'http://127.0.0.1:4105';
    const surfaces = [...screen.surfaces, { name: 'console', url: consoleUrl, opsUrl: 'http://127.0.0.1:4155' }];
    const lines = renderScreen({ ...screen, consoleUrl, surfaces }).split('\n');
    expect(lines[1]).toBe('Open http://127.0.0.1:4105 and choose a person to sign in as.');
    expect(lines).toContain('  console         http://127.0.0.1:4105  ops http://127.0.0.1:4155');
  });

  it('says how to be a steward, if there is a door', () => {
    const door = { ...screen, consoleUrl: 'http://127.0.0.1:4105', venueId: 'some-hall', keys: { gate: 'gk_1' } };
    const line = 'As a steward at a door: open http://127.0.0.1:4105/door, venue some-hall, with the key gate above.';
    expect(renderScreen(door)).toContain(`  gate         gk_1\n  admin token  the-token\n\n${line}\n`);
    for (const missing of [{ consoleUrl: undefined }, { venueId: undefined }, { keys: {} }])
      expect(renderScreen({ ...door, ...missing })).not.toContain('steward');
  });

  it('shows how to stop a detached start', () => {
    expect(renderScreen({ ...screen, detached: true })).toContain(
      'Running in the background; stop it with `npm stop -- --data /data`.',
    );
  });
});
