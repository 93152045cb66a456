import { searchText } from '@sealgate/paging';
import type { Statement } from '@sealgate/storage';
import { Type } from '@sinclair/typebox';
import { Attachment, Case, Decision, Seal, type CaseRecord } from '../domain/case-record.ts';
import { readRow, type Model } from '../domain/model.ts';
import { Time } from '../schemas.ts';

export type Row = Readonly<Record<string, unknown>>;

const columnsOf = ({ properties }: Model<unknown>): string[] => Object.keys(properties);
const selected = (model: Model<unknown>, alias: string) =>
  columnsOf(model)
    .map((column) => `${alias}.${column}`)
    .join(', ');

export const CASE_COLUMNS = selected(Case, 'c');
export const LISTED_CASE_COLUMNS = selected(Case, 'l');
export const ATTACHMENT_COLUMNS = selected(Attachment, 'a');
export const DECISION_COLUMNS = selected(Decision, 'd');
export const SEAL_COLUMNS = selected(Seal, 's');

/** Only this service writes metadata. */
export const caseOf = (row: Row): CaseRecord =>
  readRow(Case, { ...row, metadata: JSON.parse(String(row['metadata'])) as object });
export const attachmentOf = (row: Row): Attachment =>
  readRow(Attachment, { ...row, size_bytes: Number(row['size_bytes']) });
export const decisionOf = (row: Row): Decision => readRow(Decision, row);
export const sealOf = (row: Row): Seal => readRow(Seal, row);

const caseColumns = columnsOf(Case);

/** Writes a case, and the words by which operators find it; none of them changes. */
export function insertCaseStatement(record: CaseRecord, mac: string): Statement {
  const { environment, case_id: id, subject_ref, external_ref } = record;
  const texts = searchText([id, subject_ref, external_ref]);
  return withTexts(
    'case',
    { environment, id, texts },
    inserting('gate insert case', 'cases', { ...caseValues(record, caseColumns), mac, folded: texts }),
  );
}

/** The same statement, which also writes the words of what it is about, unless they are there. */
export function withTexts(
  kind: 'case' | 'subject',
  { environment, id, texts }: { readonly environment: string; readonly id: string; readonly texts: string },
  { text, values = [], ...statement }: Statement,
): Statement {
  const [first, second, third] = [1, 2, 3].map((place) => `$${values.length + place}`);
  return {
    ...statement,
    text: `WITH words AS (INSERT INTO gate.texts (environment, kind, id, folded) VALUES (${first}, '${kind}', ${second}, ${third})
                          ON CONFLICT DO NOTHING)
           ${text}`,
    values: [...values, environment, id, texts],
  };
}

/** How the index finds the rows of a list; `id` is the column of the list. */
export const searchedTexts = (kind: 'case' | 'subject', id: string) =>
  `${id} IN (SELECT t.id FROM gate.texts t WHERE t.kind = '${kind}' AND t.environment = l.environment
     AND gate.grams(t.folded, t.environment, t.kind) @> $grams AND t.folded LIKE ALL ($patterns))`;

/** Members that never change. */
const FIXED: ReadonlySet<string> = new Set([
  ...['case_id', 'environment', 'subject_ref', 'case_type', 'external_ref', 'requested_policy_version'],
  ...['metadata', 'created_at', 'expires_at'],
]);
const changing = caseColumns.filter((column) => !FIXED.has(column));

export function saveCaseStatement(record: CaseRecord, mac: string): Statement {
  const changes = changing.map((column, at) => `${column} = $${at + 3}`).join(', ');
  return {
    name: 'gate save case',
    text: `UPDATE gate.cases SET mac = $2, ${changes} WHERE case_id = $1`,
    values: [record.case_id, mac, ...Object.values(caseValues(record, changing))],
  };
}

function caseValues(record: CaseRecord, columns: readonly string[]): Row {
  const row: Row = { ...record, metadata: JSON.stringify(record.metadata) };
  return Object.fromEntries(columns.map((column) => [column, row[column]]));
}

export function insertDecisionStatement(decision: Decision): Statement {
  return inserting('gate insert decision', 'decisions', readRow(Decision, decision));
}

/** The columns of a seal when it begins. */
const Inserted = Type.Object({ ...Type.Omit(Seal, ['sealed_at', 'proof']).properties, created_at: Time });

export function insertSealStatement(seal: Seal, at: Date): Statement {
  return inserting('gate insert seal', 'seals', readRow(Inserted, { ...seal, created_at: at }));
}

/** The row has its columns in the order of a model, so that the text of a prepared statement is always the same. */
function inserting(name: string, table: string, row: Row): Statement {
  const columns = Object.keys(row);
  const places = columns.map((_, at) => `$${at + 1}`);
  return {
    name,
    text: `INSERT INTO gate.${table} (${columns.join(', ')}) VALUES (${places.join(', ')})`,
    values: Object.values(row),
  };
}

const attachmentColumns = columnsOf(Attachment);

export function insertAttachmentsStatement(caseId: string, attachments: readonly Attachment[], at: Date): Statement {
  const rows: readonly Row[] = attachments;
  const columns = attachmentColumns.join(', ');
  const lists = attachmentColumns.map(
    (column, index) => `$${index + 3}::${column === 'size_bytes' ? 'bigint' : 'text'}[]`,
  );
  return {
    name: 'gate insert attachments',
    text: `INSERT INTO gate.attachments (case_id, added_at, position, ${columns})
      SELECT $1, $2, (SELECT count(*) FROM gate.attachments WHERE case_id = $1) + ordinal, ${columns}
        FROM unnest(${lists.join(', ')}) WITH ORDINALITY a (${columns}, ordinal)`,
    values: [caseId, at, ...attachmentColumns.map((column) => rows.map((row) => row[column]))],
  };
}
