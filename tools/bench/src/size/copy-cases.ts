import { fillTable } from '@sealgate/local-services';
import { timeText } from '../surfaces/resource-copies.ts';
import type { FillAt } from './sized-surface.ts';

/** Copies came in over so many days before the model: fewer than a case waits for its decision. */
const SPREAD_DAYS = 30;

interface Model {
  readonly case_id: string;
  readonly subject_ref: string;
  readonly external_ref: string;
  readonly created_at: Date;
}

/**
 * Copies of a case that waits for a decision, as its door made it, each of a subject of its own: with their timelines,
 * subjects, words and kept answers. The MACs stay those of the copied case, since nobody else has the secret, and the
 * ledger has no records of these subjects: lists show them, nothing can be decided about them.
 */
export async function copyCases({ site }: FillAt, count: number): Promise<void> {
  if (count === 0) return;
  const [model] = await site.sql.query<Model>({
    text: `SELECT case_id, subject_ref, external_ref, created_at FROM gate.cases
            WHERE status = 'received' AND external_ref IS NOT NULL ORDER BY created_at LIMIT 1`,
  });
  const { case_id: caseId, subject_ref: subject, external_ref: reference, created_at: createdAt } = model!;
  const at = `(timestamptz '${createdAt.toISOString()}'
    - make_interval(secs => ${SPREAD_DAYS * 86_400} * (1 - (g - 1)::float8 / ${count}) + 1))::timestamptz(3)`;
  const number = `lpad(g::text, ${reference.length - 'file-'.length}, '0')`;
  const id = `'case_' || lpad(to_hex((extract(epoch FROM ${at}) * 1000)::bigint), 12, '0') || substr(md5('case' || g), 1, 20)`;
  const renamed = (text: string): string =>
    [
      [caseId, id],
      [subject, `'subj_' || ${number}`],
      [reference, `'file-' || ${number}`],
      [createdAt.toISOString(), timeText(at)],
    ].reduce((before, [of, by]) => `replace(${before}, '${of}', ${by})`, text);
  const columns = (...names: readonly string[]) =>
    Object.fromEntries(names.map((name) => [name, renamed(`t.${name}`)]));
  const ofCase = `case_id = '${caseId}'`;
  const ofSubject = `environment = 'live' AND subject_ref = '${subject}'`;
  const fill = (table: string, ...all: readonly { from: string; set: Record<string, string> }[]): Promise<void> =>
    fillTable(
      site.url,
      `gate.${table}`,
      all.map((copies) => ({ count, ...copies })),
    );
  await fill('cases', {
    from: ofCase,
    set: {
      ...columns('case_id', 'subject_ref', 'external_ref', 'folded'),
      ...{ created_at: at, updated_at: at, expires_at: `t.expires_at - (t.created_at - ${at})` },
    },
  });
  const hash = hashText(renamed('t.data'), at);
  await fill('timeline', { from: ofCase, set: { ...columns('case_id', 'data'), at, hash } });
  const words = columns('id', 'folded');
  await fill('texts', { from: `id = '${caseId}'`, set: words }, { from: `id = '${subject}'`, set: words });
  const subjects = { ...columns('subject_ref', 'document'), changed_at: at };
  await fill('eligibility', { from: ofSubject, set: { ...subjects, ...columns('folded') } });
  await fill('eligibility_history', { from: ofSubject, set: subjects });
  await fill('claims', {
    from: `strpos(body, '${caseId}') > 0`,
    set: { ...columns('body'), claim: `sha256(t.claim || g::text::bytea)`, created_at: at },
  });
  await requireHash(site, ofCase);
}

/** SQL of the hash of the first event of a case: SHA-256 of its canonical form. */
const hashText = (data: string, at: string): string =>
  `encode(sha256(convert_to('{"actor":' || to_json(t.actor) || ',"at":"' || ${timeText(at)} || '","data":' || ${data}
     || ',"event":' || to_json(t.event) || ',"prev_hash":null,"seq":1}', 'UTF8')), 'hex')`;

/** The copies have the hashes that the door would have made, if this one is as the door made it. */
async function requireHash({ sql }: FillAt['site'], ofCase: string): Promise<void> {
  const [row] = await sql.query<{ same: boolean }>({
    text: `SELECT hash = ${hashText('t.data', 't.at')} AS same FROM gate.timeline t WHERE ${ofCase} AND seq = 1`,
  });
  if (row?.same !== true) throw new Error('The hash of a timeline is made in another way than its copies have it.');
}
