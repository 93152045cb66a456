import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { check, sealedCase, SETUP_MS } from '../test/running-gate.ts';
import { ask, changesOf, TABLES, undoSite, type Arranged, type ChangeName, type UndoSite } from '../test/undo.ts';

const TIMEOUT_MS = 60_000;

let at: UndoSite;
beforeAll(async () => {
  at = await undoSite();
}, SETUP_MS);
afterAll(() => at.stop());

/** For each column other values; null: the column decides nothing. */
type Edits = Readonly<Record<string, string | readonly string[] | null>>;

const SECOND_LATER = (column: string) => `${column} + interval '1 second'`;

const EDITS: Readonly<Record<(typeof TABLES)[number], Edits>> = {
  api_keys: {
    id: `'key_other'`,
    owner_id: `'test'`,
    family_id: `'key_other'`,
    label: `'other'`,
    key_prefix: `'gk_other'`,
    key_hash: `sha256(key_hash)`,
    grants: `jsonb_set(grants, '{scopes}', '["gate:check", "case:write"]')`,
    created_at: SECOND_LATER('created_at'),
    expires_at: 'NULL',
    revoked_at: `'2099-01-01'`,
    last_used_at: null,
    replaces: 'NULL',
    overlap_until: 'NULL',
    folded: null,
  },
  venues: {
    environment: `'test'`,
    venue_id: `'moved'`,
    name: `'Other'`,
    active: 'NOT active',
    record_version: 'record_version + 1',
    created_at: SECOND_LATER('created_at'),
    updated_at: SECOND_LATER('updated_at'),
    mac: `mac || 'A'`,
    folded: null,
  },
  policies: {
    environment: `'test'`,
    policy_version: `'moved'`,
    status: `'retired'`,
    rules: [`replace(rules, 'approve', 'refer')`, 'NULL'],
    created_at: SECOND_LATER('created_at'),
    updated_at: SECOND_LATER('updated_at'),
    record_version: '0',
    mac: `mac || 'A'`,
    folded: null,
  },
  eligibility: {
    environment: `'test'`,
    subject_ref: `'subj_moved'`,
    record_version: 'record_version - 1',
    status: `'pending'`,
    document: `replace(document, '"hall"', '"*"')`,
    changed_at: SECOND_LATER('changed_at'),
    mac: `mac || 'A'`,
    folded: null,
  },
  eligibility_history: {
    environment: `'test'`,
    subject_ref: `'subj_moved'`,
    record_version: 'record_version + 10',
    event: null,
    actor: null,
    document: null,
    changed_at: null,
  },
  // A forged entry is refused by the row, or by the ledger, which holds the true one first.
  outbox: { outbox_id: null, record_id: null, record_type: null, data: null, attempts: null, next_attempt_at: null },
};

const decided = Object.entries(EDITS).flatMap(([table, edits]) =>
  Object.entries(edits).flatMap(([column, values]) =>
    [values ?? []].flat().map((value) => [table, column, value] as const),
  ),
);

/** A key that is not revoked has no value here that could be removed; `undo.int.spec.ts` removes that of one that is. */
const WITHOUT_VALUE = 'api_keys.revoked_at';

describe('a column', () => {
  it('is either edited below or listed as not deciding anything', async () => {
    for (const table of TABLES) {
      const columns = await at.run(
        `SELECT attname::text AS name FROM pg_attribute WHERE attrelid = 'gate.${table}'::regclass AND attnum > 0 AND NOT attisdropped`,
      );
      expect({ table, columns: columns.map(({ name }) => name).sort() }).toEqual({
        table,
        columns: Object.keys(EDITS[table]).sort(),
      });
    }
  });

  it('that may be null is also edited to null', async () => {
    const nullable = await at.run(
      `SELECT relname || '.' || attname AS name FROM pg_attribute JOIN pg_class c ON c.oid = attrelid
        WHERE c.relnamespace = 'gate'::regnamespace AND relname = ANY ($1) AND attnum > 0 AND NOT attisdropped AND NOT attnotnull`,
      [[...TABLES]],
    );
    const decides = new Set(decided.map(([table, column]) => `${table}.${column}`));
    const names = nullable
      .map(({ name }) => String(name))
      .filter((name) => decides.has(name) && name !== WITHOUT_VALUE);
    const removed = decided.filter(([, , value]) => value === 'NULL').map(([table, column]) => `${table}.${column}`);
    expect(removed.toSorted()).toEqual(names.toSorted());
  });

  it.each(decided)(
    'of %s, %s, never allows entry when it is edited, here or elsewhere',
    async (table, column, value) => {
      const place: Readonly<Record<string, ChangeName>> = {
        eligibility: 'a subject that was revoked',
        eligibility_history: 'a subject that was revoked',
        venues: 'a venue that was closed',
        policies: 'a policy version that was retired',
        api_keys: 'a key that was replaced',
      };
      const { site, other, key } = at;
      const change = changesOf(at)[place[table]!];
      const made = table === 'api_keys' ? await replacedKey() : await change.arrange();
      expect(await made.ask(site)).toBe(change.before);
      const rows = await at.read();
      const where = made.rows[table]!;
      await at.asService(async (sql) => {
        if (table === 'api_keys') {
          const text = `UPDATE gate.api_keys SET replaces = NULL WHERE replaces = (SELECT id FROM gate.api_keys WHERE ${where})`;
          await sql.query({ text });
        }
        await sql.query({ text: `UPDATE gate.${table} SET ${column} = ${value} WHERE ${where}` });
      });
      try {
        for (const gate of [site, other]) expect(await made.ask(gate)).toMatch(change.after);
        // A moved row is not valid for its new subject either.
        expect(await check(site, key, 'subj_moved')).toMatch(/^deny /);
      } finally {
        await at.restore(rows, Object.fromEntries(TABLES.slice(0, -1).map((each) => [each, 'true'])));
      }
      expect(await made.ask(site)).toBe(change.before);
    },
    TIMEOUT_MS,
  );

  /** A key with every member set: it replaced one, is replaced in an hour, and expires tomorrow. */
  async function replacedKey(): Promise<Arranged> {
    const { site, key } = at;
    const { subjectRef } = await sealedCase(site, key);
    const mint = async (more: object) => {
      const order = { label: 'x', environment: 'live', scopes: ['gate:check'], ...more };
      return (await site.admin('POST', '/keys', order)).body as { id: string; rawKey: string };
    };
    const { id: first } = await mint({});
    const expiresAt = new Date(Date.now() + 86_400_000).toISOString();
    const { id, rawKey } = await mint({ replaces: first, expiresAt });
    await mint({ replaces: id, overlapSeconds: 3600 });
    return {
      ask: (gate) => ask(gate, rawKey, subjectRef),
      act: () => Promise.reject(new Error('Nothing is to be done to it.')),
      rows: { api_keys: `id = '${id}'` },
    };
  }
});
