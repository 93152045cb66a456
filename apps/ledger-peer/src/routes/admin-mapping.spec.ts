import { PassThrough } from 'node:stream';
import { describe, expect, it } from '@jest/globals';
import { adminApp } from '@sealgate/admin-api';
import { tokenHashes } from '@sealgate/auth';
import { sha256 } from '@sealgate/json';
import { createLog } from '@sealgate/observability';
import { expectProblem } from '@sealgate/testing';
import request from 'supertest';
import { signersOf } from '../data/signers.ts';
import { scriptedLedger } from '../testing/scripted-ledger.ts';
import { adminMappingRoutes } from './admin-mapping.ts';

const STATIC = 'a'.repeat(32);
const PERSON = 'a.person.here';
const issuer = 'https://id.example';
const identities = ['clerk', 'auditor'].map((name) => ({ name, mspId: 'Org1MSP', mspFolder: name }));
const callers = [{ claim: 'groups', value: 'audit', issuer, identity: 'auditor' }];
const mapping = JSON.stringify({ mappings: [{ type: 'asset', channel: 'acme.main', chaincode: 'records' }] });

function surface(signers: ReturnType<typeof signersOf> | undefined) {
  const asked: string[] = [];
  const ledger = {
    ...scriptedLedger(),
    as(identity: string) {
      asked.push(identity);
      return scriptedLedger();
    },
  };
  const rules = { driver: 'fabric', defaultChannel: undefined } as const;
  const app = adminApp({
    routes: adminMappingRoutes({ ledger, signers, rules, now: Date.now }),
    tokens: tokenHashes(() => sha256(STATIC).toString('hex'), Date.now),
    findPerson: () =>
      Promise.resolve({
        actor: `oidc:${issuer}#eve`,
        roles: ['operator'],
        identity: { issuer, subject: 'eve' },
        claims: { groups: ['audit'] },
      }),
    charge: () =>
      Promise.resolve({ admitted: true, headers: { 'RateLimit-Policy': 'p', RateLimit: 'r' }, retryAfterSeconds: 0 }),
    failedAuthentication: () => Promise.resolve(undefined),
    log: createLog({ service: 'test', level: 'error', stream: new PassThrough().resume(), now: Date.now }),
    metrics: { route: () => ({ observe: () => undefined }) },
    now: Date.now,
    newId: () => 'made-here',
    trustProxy: false,
    tlsTerminatedUpstream: false,
  });
  const check = (token: string, body: object = {}) =>
    request(app)
      .post('/admin/v1/mapping/check')
      .set('Authorization', `Bearer ${token}`)
      .send({ mapping, ...body });
  return { asked, check };
}

describe('the check of a mapping', () => {
  const withDefault = signersOf({ callers, identities, defaultIdentity: 'clerk' });
  const without = signersOf({ callers, identities, defaultIdentity: undefined });

  it('is signed as the identity of the claims of who asks, else as the default', async () => {
    const { asked, check } = surface(withDefault);
    expect((await check(PERSON)).body).toMatchObject({
      ok: true,
      calls: [{ answer: 'absent' }, { answer: 'answered' }],
    });
    expect((await check(STATIC)).status).toBe(200);
    expect(asked).toEqual(['auditor', 'clerk']);
  });

  it('is signed as the identity that is named', async () => {
    const { asked, check } = surface(without);
    expect((await check(STATIC, { identity: 'clerk' })).status).toBe(200);
    expect((await check(PERSON, { identity: 'clerk' })).status).toBe(200);
    expect(asked).toEqual(['clerk', 'clerk']);
  });

  it('is refused for an unknown identity, and where none signs for the caller: nothing is asked', async () => {
    const { asked, check } = surface(without);
    expectProblem(await check(STATIC), 'FORBIDDEN');
    expect((await check(STATIC, { identity: 'nobody' })).body).toMatchObject({
      code: 'INVALID_REQUEST',
      errors: [{ in: 'body', pointer: '/identity' }],
    });
    expect(asked).toEqual([]);
  });
});
