import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { contractsIn, highestPortOffset, networkPlan, portsOf } from './network-plan.ts';
import { rolesOf } from './nodes.ts';

const settings = { portBase: 4300, batchTimeoutMs: 200 };
const names = ['one', 'two', 'three', 'four', 'five', 'six', 'seven'];
const full = {
  ...settings,
  programs: Object.fromEntries(['records', 'basic', ...names].map((name) => [name, `/data/${name}`])),
};
const contracts = contractsIn(full.programs);

const three = { ...full, organizations: 3 };

describe('the plan of a network', () => {
  it('counts ports from the base', () => {
    expect(portsOf(networkPlan('/data', settings), ['records', 'basic'])).toEqual([
      { role: 'orderer', port: 4301 },
      { role: 'orderer', port: 4302 },
      { role: 'orderer', port: 4303 },
      { role: 'peer-north', port: 4311 },
      { role: 'peer-north', port: 4312 },
      { role: 'peer-north', port: 4313 },
      { role: 'records-north', port: 4314 },
      { role: 'basic-north', port: 4315 },
      { role: 'peer-south', port: 4321 },
      { role: 'peer-south', port: 4322 },
      { role: 'peer-south', port: 4323 },
      { role: 'records-south', port: 4324 },
      { role: 'basic-south', port: 4325 },
    ]);
  });

  it('gives further contracts ports in the order in which they were added', () => {
    const ports = portsOf(networkPlan('/data', full), names);
    expect(ports.filter(({ role }) => /^(one|two|seven)-/.test(role))).toEqual([
      { role: 'one-north', port: 4326 },
      { role: 'two-north', port: 4328 },
      { role: 'seven-north', port: 4338 },
      { role: 'one-south', port: 4327 },
      { role: 'two-south', port: 4329 },
      { role: 'seven-south', port: 4339 },
    ]);
  });

  it('has no duplicate port, and none above the highest offset', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1024, max: 65_535 - highestPortOffset }), (portBase) => {
        const ports = portsOf(networkPlan('/data', { ...three, portBase }), contracts).map(({ port }) => port);
        expect(new Set(ports).size).toBe(ports.length);
        expect(Math.max(...ports)).toBe(portBase + highestPortOffset);
      }),
    );
  });

  it('has a port for every role, and a role for every port', () => {
    const plan = networkPlan('/data', three);
    const ported = portsOf(plan, contracts).map(({ role }) => role);
    expect([...new Set(ported)].sort()).toEqual([...rolesOf(plan, contracts)].sort());
    expect(ported).toContain('seven-east');
  });

  it('requires endorsement by both organisations on one channel, and by either on the other', () => {
    expect(networkPlan('/data', settings).channels).toEqual([
      { name: 'both', endorsementPolicy: "AND('NorthMSP.peer','SouthMSP.peer')", blockFile: '/data/blocks/both.block' },
      {
        name: 'either',
        endorsementPolicy: "OR('NorthMSP.peer','SouthMSP.peer')",
        blockFile: '/data/blocks/either.block',
      },
    ]);
  });

  it('gives a third organisation its own ports, and requires two of three on the first channel', () => {
    const plan = networkPlan('/data', { ...settings, organizations: 3 });
    expect(portsOf(plan, ['records', 'basic']).filter(({ role }) => role.endsWith('-east'))).toEqual([
      { role: 'peer-east', port: 4341 },
      { role: 'peer-east', port: 4342 },
      { role: 'peer-east', port: 4343 },
      { role: 'records-east', port: 4344 },
      { role: 'basic-east', port: 4345 },
    ]);
    expect(plan.channels.map(({ endorsementPolicy }) => endorsementPolicy)).toEqual([
      "OutOf(2,'NorthMSP.peer','SouthMSP.peer','EastMSP.peer')",
      "OR('NorthMSP.peer','SouthMSP.peer','EastMSP.peer')",
    ]);
  });

  it('keeps all paths below its folder', () => {
    const paths = JSON.stringify(networkPlan('/data', full)).match(/"\/[^"]*"/g) ?? [];
    expect(paths.length).toBeGreaterThan(30);
    expect(paths.filter((path) => !path.startsWith('"/data'))).toEqual([]);
  });
});
