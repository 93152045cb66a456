import { resolve } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { workspaceRoot } from '../workspace.ts';
import { HelpAsked, parseStartOptions, parseStopOptions } from './start-options.ts';
import { UserError } from './user-error.ts';

const surfaces = ['case-gate', 'ingest-gateway'];
const parse = (...parameters: string[]) => parseStartOptions(parameters, { surfaces, env: { INIT_CWD: '/somewhere' } });

describe('the options of npm start', () => {
  it('has defaults for all of them', () => {
    expect(parse()).toEqual({
      detach: false,
      fresh: false,
      data: resolve(workspaceRoot, '.sealgate'),
      portBase: 4100,
      surfaces: undefined,
      redis: true,
    });
  });

  it('accepts each option', () => {
    const parameters = [
      '--detach',
      '--fresh',
      '--data',
      'here',
      '--port-base',
      '5000',
      '--surfaces',
      'ingest-gateway',
      '--no-redis',
    ];
    expect(parse(...parameters)).toEqual({
      detach: true,
      fresh: true,
      data: '/somewhere/here',
      portBase: 5000,
      surfaces: ['ingest-gateway'],
      redis: false,
    });
    expect(parse('--data=/abs', '--surfaces=case-gate, ingest-gateway,case-gate')).toMatchObject({
      data: '/abs',
      surfaces: ['case-gate', 'ingest-gateway'],
    });
  });

  it.each([
    [['--fast'], /Unknown option '--fast'/],
    [['extra'], /extra/],
    [['--data'], /--data/],
    [['--data', ''], '--data needs a folder.'],
    [['--port-base', 'abc'], '--port-base must be a number from 1024 to 65431; "abc" is not.'],
    [['--port-base', '80'], /"80" is not/],
    [['--port-base', '65432'], /"65432" is not/],
    [['--port-base', '04200'], /"04200" is not/],
    [['--surfaces', 'ingest-gateway,nope'], 'Unknown surface "nope". Surfaces: case-gate, ingest-gateway.'],
    [['--surfaces', ''], /Unknown surface ""/],
  ])('rejects %j in one sentence', (parameters, message) => {
    expect(() => parse(...parameters)).toThrow(UserError);
    expect(() => parse(...parameters)).toThrow(message);
  });

  it.each([
    [{ npm_config_detach: 'true' }, 'npm consumed --detach: put -- before the options, as in `npm start -- --detach`.'],
    [{ npm_config_fresh: 'true', npm_config_data: '/x' }, '`npm start -- --fresh --data DIR`.'],
    [{ npm_config_port_base: 'true' }, '`npm start -- --port-base N`.'],
    [{ npm_config_surfaces: 'case-gate' }, '`npm start -- --surfaces a,b`.'],
    [{ npm_config_redis: '' }, '`npm start -- --no-redis`.'],
  ])('rejects options that npm consumed: %j', (env, message) => {
    const going = () => parseStartOptions([], { surfaces, env });
    expect(going).toThrow(UserError);
    expect(going).toThrow(message);
  });

  it('prints help', () => {
    expect(() => parse('--help')).toThrow(HelpAsked);
    for (const option of ['--detach', '--fresh', '--data', '--port-base', '--surfaces', '--no-redis']) {
      expect(() => parse('--help')).toThrow(option);
    }
  });
});

describe('the options of npm stop', () => {
  it('accepts the data folder', () => {
    expect(parseStopOptions([], {})).toBe(resolve(workspaceRoot, '.sealgate'));
    expect(parseStopOptions(['--data', 'here'], { INIT_CWD: '/somewhere' })).toBe('/somewhere/here');
    expect(() => parseStopOptions(['--fresh'], {})).toThrow(UserError);
    expect(() => parseStopOptions([], { npm_config_data: '/x' })).toThrow('`npm stop -- --data DIR`');
  });
});
