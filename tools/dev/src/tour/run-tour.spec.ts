import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { runTour } from './run-tour.ts';
import { TOUR } from './tour-steps.ts';

let server: Server;
let folder: string;
let answers: (number: number) => { status: number; body: object };
let asked: string[] = [];
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'sealgate-tour-'));
  server = createServer((request, response) => {
    asked.push(`${request.method} ${request.url} ${request.headers.authorization}`);
    const { status, body } = answers(asked.length - 1);
    response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(body));
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const dev = {
    adminToken: 'admin',
    surfaces: { 'case-gate': { url, adminUrl: url } },
    demo: { venueId: 'hall', keys: { gate: 'gk' } },
  };
  writeFileSync(join(folder, 'dev.json'), JSON.stringify(dev));
});
afterAll(() => {
  server.close();
  rmSync(folder, { recursive: true });
});

async function tour(...parameters: string[]) {
  asked = [];
  let [out, err] = ['', ''];
  const host = { out: (text: string) => void (out += text), err: (text: string) => void (err += text), env: {} };
  return { code: await runTour(parameters, host), out, err };
}

/** The expected response of each step. */
const asExpected = (number: number) => {
  const { status, expects = {} } = TOUR[number]!;
  return { status, body: { case_id: 'case_1', ...expects } };
};

describe('the tour', () => {
  it('runs the steps in order, with the key of their listener, and ends with the verifier', async () => {
    answers = asExpected;
    const { code, out, err } = await tour('--data', folder);
    expect(asked).toHaveLength(TOUR.length);
    expect(asked[0]).toBe('POST /v1/cases Bearer gk');
    expect(asked[4]).toBe('POST /v1/cases/case_1/seal Bearer gk');
    expect(asked[7]).toMatch(/^POST \/admin\/v1\/subjects\/subj_tour_\w+\/revoke Bearer admin$/);
    expect(out).toContain(`${TOUR.length + 1}. Verify it offline`);
    // The stand-in returns no pack, and that is reported.
    expect({ code, err }).toEqual({ code: 1, err: '\nThe pack could not be verified.\n' });
  });

  it.each([0, 3, 6, 8])('stops if step %d has another response', async (wrong) => {
    answers = (number) => (number === wrong ? { status: 200, body: { decision: 'other' } } : asExpected(number));
    const { code, err } = await tour('--data', folder);
    expect({ code, steps: asked.length }).toEqual({ code: 1, steps: wrong + 1 });
    expect(err).toContain(`Step ${wrong + 1} has an unexpected response`);
  });

  it('explains what to do if nothing is running, or for wrong use', async () => {
    expect(await tour('--data', join(folder, 'none'))).toMatchObject({
      code: 1,
      err: expect.stringContaining('npm start'),
    });
    expect(await tour('--nonsense')).toMatchObject({ code: 1, err: expect.stringContaining('Usage: npm run tour') });
  });
});
