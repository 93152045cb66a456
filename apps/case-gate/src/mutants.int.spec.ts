import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { mutantsOf, type Json, type Mutant } from '../test/mutants.ts';
import { check, gateSite, newCase, sealedCase, SETUP_MS, type Answer } from '../test/running-gate.ts';

const TIMEOUT_MS = 180_000;
let site: Awaited<ReturnType<typeof gateSite>>;
let key: string;
beforeAll(async () => {
  site = await gateSite();
  ({ key } = site);
}, SETUP_MS);
afterAll(() => site.stop());

/** Sends a request again while the process is too busy to decide it, as any client does. */
async function patiently(send: () => Promise<Answer>): Promise<Answer> {
  for (;;) {
    const answer = await send();
    if (answer.status !== 503) return answer;
  }
}

const named = ({ pointer, kind }: Mutant): string => `${pointer} ${kind}`;
/** Number of mutants tried in total. */
let tried = 0;

type Left = Iterable<[at: number, mutant: Mutant]>;

/** The mutants that `work` lets pass, in order. Runs several workers at once. */
async function sieve(mutants: readonly Mutant[], work: (left: Left, passed: Set<number>) => Promise<void>) {
  const left = mutants.entries();
  const passed = new Set<number>();
  await Promise.all(Array.from({ length: 8 }, () => work(left, passed)));
  return mutants.filter((_, at) => passed.has(at)).map(named);
}

/** The mutants whose answer is neither 400 nor a denial. */
const passing = (path: string, mutants: readonly Mutant[], allows: (answer: Answer) => boolean) =>
  sieve(mutants, async (left, passed) => {
    for (const [at, mutant] of left) {
      const answer = await patiently(() => site.ask('POST', path, { key, raw: mutant.text }));
      tried += 1;
      expect({ mutant, status: answer.status }).toEqual({ mutant, status: answer.status === 400 ? 400 : 200 });
      if (allows(answer)) passed.add(at);
    }
  });

describe('a request with any one field changed', () => {
  it(
    'to the gate is deny or 400',
    async () => {
      const { subjectRef } = await sealedCase(site, key);
      const good = { subject_ref: subjectRef, venue_id: 'hall', action: 'enter', policy_version: 'p1', context: {} };
      expect(await check(site, key, subjectRef, good)).toBe('allow ELIGIBLE');
      const allows = ({ body }: Answer) => body.allow !== false || body.decision !== 'deny';
      expect(await passing('/v1/gate/check', mutantsOf(good), allows)).toEqual([
        // Optional members may be absent, and a context may hold anything.
        '/action removed',
        '/policy_version removed',
        '/context removed',
        '/context retyped {"value":{}}',
      ]);
    },
    TIMEOUT_MS,
  );

  it(
    'to the AuthZEN endpoint is false or 400',
    async () => {
      const { subjectRef } = await sealedCase(site, key);
      const good = {
        subject: { type: 'subject', id: subjectRef },
        resource: { type: 'venue', id: 'hall' },
        action: { name: 'enter' },
      };
      const first = await site.ask('POST', '/access/v1/evaluation', { key, body: good });
      expect(first.body.decision).toBe(true);
      const allows = ({ body }: Answer) => body.decision !== false;
      expect(await passing('/access/v1/evaluation', mutantsOf(good), allows)).toEqual([]);
    },
    TIMEOUT_MS,
  );
});

describe('an AuthZEN batch with any one field changed', () => {
  it(
    'is 400, or false for a changed item, and answers the unchanged item as before',
    async () => {
      const { subjectRef } = await sealedCase(site, key);
      const context = { a: 1 };
      const item = {
        subject: { type: 'subject', id: subjectRef, properties: { a: 1 } },
        resource: { type: 'venue', id: 'hall', properties: { a: 1 } },
        action: { name: 'enter', properties: { a: 1 } },
        context,
      };
      const first = await site.ask('POST', '/access/v1/evaluations', { key, body: { evaluations: [item, item] } });
      expect(first.body.evaluations).toMatchObject([{ decision: true }, { decision: true }]);
      const passed: string[] = [];
      for (const mutant of mutantsOf(item)) {
        const raw = `{"evaluations":[${mutant.text},${JSON.stringify(item)}]}`;
        const { status, body } = await site.ask('POST', '/access/v1/evaluations', { key, raw });
        tried += 1;
        // A duplicate member is invalid JSON.
        if (status === 400) expect(mutant.kind).toMatch(/twice/);
        else expect({ mutant, other: body.evaluations[1]?.decision }).toEqual({ mutant, other: true });
        if (status === 400 ? body.decision !== false : body.evaluations[0].decision !== false) {
          passed.push(named(mutant));
        }
      }
      // Optional members may be absent, and properties and a context may hold anything.
      for (const name of passed) {
        expect(name).toMatch(
          /^\/(subject\/|resource\/|action\/)?(properties|context)( removed| retyped \{| name |\/a )/,
        );
      }
      expect(passed).toContain('/subject/properties removed');
      expect(passed).not.toContain('/subject/properties null');
    },
    TIMEOUT_MS,
  );
});

describe('a policy with any one field changed', () => {
  /** A case that the approving policy approves and the declining one declines. */
  const newApplicant = async (): Promise<string> => {
    const { caseId } = await newCase(site, key, { metadata: { risk: 'low', score: '3', country: 'XX' } });
    const passport = { kind: 'vault_ref', ref: 'r1', sha256: 'a'.repeat(64), media_type: 'image/png', size_bytes: 1 };
    const attachments = [{ ...passport, label: 'passport' }];
    const attach = () => site.ask('POST', `/v1/cases/${caseId}/attachments`, { key, body: { attachments } });
    expect((await patiently(attach)).status).toBe(201);
    return caseId;
  };
  const decide = (caseId: string, version: string) =>
    patiently(() => site.ask('POST', `/v1/cases/${caseId}/decide`, { key, body: { policy_version: version } }));

  const approving = {
    rules: [
      {
        when: {
          and: [
            { '==': [{ var: 'metadata.risk' }, 'low'] },
            { '<': [{ var: 'metadata.score' }, 5] },
            { in: ['passport', { var: 'attachment_labels' }] },
          ],
        },
        decision: 'approve',
        reason_codes: ['OK'],
      },
    ],
    default: { decision: 'refer', reason_codes: ['MANUAL'] },
  };
  const declining = {
    rules: [
      {
        when: { or: [{ in: [{ var: 'metadata.country' }, ['XX']] }, { '>': [{ var: 'metadata.score' }, 7] }] },
        decision: 'decline',
        reason_codes: ['COUNTRY'],
      },
    ],
    default: { decision: 'approve', reason_codes: ['FINE'] },
  };

  let versions = 0;
  const sendAdmin = (method: string, path: string, raw: string) => site.adminRaw(method, path, raw);

  /** Creates a policy of each mutant, decides under it, and returns those that approved. */
  async function approvingOf(
    make: (version: string) => { readonly mutants: readonly Mutant[] },
    send: (version: string, text: string) => Promise<Answer>,
  ): Promise<string[]> {
    return sieve(make('x').mutants, async (left, passed) => {
      let caseId = await newApplicant();
      for (const [at] of left) {
        versions += 1;
        const version = `m${versions}`;
        const mutant = make(version).mutants[at]!;
        const answer = await patiently(() => send(version, mutant.text));
        tried += 1;
        const status = answer.status < 300 ? answer.status : 400;
        expect({ mutant, status: answer.status }).toEqual({ mutant, status });
        const decided = await decide(caseId, version);
        // A version that was refused, is a draft, has no rules or another name decides nothing.
        if (decided.status !== 422) expect({ mutant, status: decided.status }).toEqual({ mutant, status: 201 });
        if (decided.body.decision === 'approve') passed.add(at);
        if (decided.status === 201 && decided.body.decision !== 'refer') caseId = await newApplicant();
      }
    });
  }

  const created = (rules: Json) => (version: string) => ({
    mutants: mutantsOf({ policy_version: version, environment: 'live', status: 'active', rules }),
  });
  const create = (_: string, text: string) => sendAdmin('POST', '/policies', text);

  /** Mutants of the approving policy that are valid policies themselves: they require less, or mean the same. */
  const asGood = [
    '/rules/rules/0/when retyped true',
    '/rules/rules/0/when/and/0 removed',
    '/rules/rules/0/when/and/0 retyped true',
    '/rules/rules/0/when/and/0/==/0/var retyped ["metadata.r',
    '/rules/rules/0/when/and/1 removed',
    '/rules/rules/0/when/and/1 retyped true',
    '/rules/rules/0/when/and/1/</0/var retyped ["metadata.s',
    '/rules/rules/0/when/and/2 removed',
    '/rules/rules/0/when/and/2 retyped true',
    '/rules/rules/0/when/and/2/in/1/var retyped ["attachment',
    '/rules/rules/0/reason_codes retyped []',
    '/rules/rules/0/reason_codes/0 removed',
    '/rules/default/reason_codes retyped []',
    '/rules/default/reason_codes/0 removed',
    // A code that is valid in base64 too.
    '/rules/default/reason_codes/0 re-encoded base64',
  ];

  it(
    'does not approve more than the original, or is 400',
    async () => {
      expect(await approvingOf(created(approving), create)).toEqual(['/environment removed', ...asGood]);
    },
    TIMEOUT_MS,
  );

  it(
    'does not approve who was declined by the original, or is 400',
    async () => {
      // Another text to compare with is another valid policy, indistinguishable from a mistake.
      const isOtherText = ({ pointer, kind }: Mutant) => /\/in\/1\/0$/.test(pointer) && kind.startsWith('re-encoded');
      const make = (version: string) => ({
        mutants: created(declining)(version).mutants.filter((mutant) => !isOtherText(mutant)),
      });
      expect(await approvingOf(make, create)).toEqual([
        // The author explicitly declines nobody.
        '/rules/rules retyped []',
        '/rules/rules/0 removed',
        '/rules/rules/0/when retyped false',
        '/rules/rules/0/when/or/0 removed',
        '/rules/rules/0/when/or/0 retyped false',
      ]);
    },
    TIMEOUT_MS,
  );

  it(
    'is refused when set on a draft too',
    async () => {
      const patched = () => ({ mutants: mutantsOf({ rules: approving, status: 'active' }) });
      const patch = async (version: string, text: string) => {
        await sendAdmin('POST', '/policies', JSON.stringify({ policy_version: version }));
        return sendAdmin('PATCH', `/policies/${version}`, text);
      };
      expect(await approvingOf(patched, patch)).toEqual(asGood);
    },
    TIMEOUT_MS,
  );
});

describe('a stored record with any one field changed', () => {
  it(
    'never allows entry',
    async () => {
      const { subjectRef } = await sealedCase(site, key);
      const where = 'WHERE subject_ref = $1';
      const query = (text: string, ...values: unknown[]) => site.sql.query({ text, values: [subjectRef, ...values] });
      const [stored] = await query(`SELECT document FROM gate.eligibility ${where}`);
      const text = String(stored?.['document']);
      for (const mutant of mutantsOf(JSON.parse(text))) {
        await query(`UPDATE gate.eligibility SET document = $2 ${where}`, mutant.text);
        tried += 1;
        expect({ mutant, said: await check(site, key, subjectRef) }).toEqual({
          mutant,
          said: 'deny RECORD_INTEGRITY_FAILED',
        });
      }
      await query(`UPDATE gate.eligibility SET document = $2 ${where}`, text);
      expect(await check(site, key, subjectRef)).toBe('allow ELIGIBLE');
    },
    TIMEOUT_MS,
  );

  it('and there are many mutants of all of these', () => {
    expect(tried).toBeGreaterThan(1000);
  });
});
