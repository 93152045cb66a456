import { auditPageText, verifyDetached } from '@sealgate/envelope';
import type { AuditPage, Jwks } from '@sealgate/envelope';
import { exportedEvent, linkFaults } from './audit-links.ts';
import type { ExportedEvent } from './audit-links.ts';
import { Bytes, canonical, sha256Text } from '@sealgate/json';
import type { JsonValue } from '@sealgate/json';
import { startReport } from './report.ts';
import type { Report, Reporter } from './report.ts';
import { isObject, parseJson, UnreadableError } from './shape.ts';

/** A line of an export, and its name in reports. */
interface AuditLine {
  readonly where: string;
  readonly value: JsonValue;
}

/** An export as text: NDJSON, one page of `GET /admin/v1/audit/export` a line, in order. */
export interface AuditText {
  readonly name: string;
  readonly text: string;
}

/** What no export can show. */
const LIMITS =
  'Not shown: newest events that were removed before the export (compare with an older one), and events written ' +
  ' by somebody who has the server secrets.';

/** Faults of one kind that are reported one by one. */
const MOST_TOLD = 100;

interface Export {
  readonly surface: string;
  readonly from: string | null;
  readonly to: string;
  /** The canonical text of each event, by id. */
  readonly events: ReadonlyMap<string, KnownEvent>;
}

type KnownEvent = ExportedEvent & { readonly text: string };

/**
 * Checks an export of the audit trail: each page hashes to its `hash` and is signed by a pinned key, the pages form one chain
 * from the first to the last, and the events lie within the period, in order, each once. With `earlier`, names events that
 * an older export of the same surface holds and this one lost or changed. Throws UnreadableError for files of another form.
 */
export function checkAuditText(
  exported: AuditText,
  { jwks, earlier }: { readonly jwks: Jwks | undefined; readonly earlier?: AuditText | undefined },
): Report {
  const report = startReport();
  const read = ({ name, text }: AuditText): Export => {
    const reader = new ExportReader(report, jwks);
    for (const [index, line] of text.split('\n').entries()) {
      const where = `${name}:${index + 1}`;
      if (line !== '') reader.add({ where, value: parseJson(Bytes.from(line), where) });
    }
    return reader.finish(name);
  };
  return judge(report, read(exported), earlier && read(earlier));
}

/** The report about an export, after its pages were read. */
export function judge(report: Reporter, exported: Export, earlier: Export | undefined): Report {
  if (earlier !== undefined) compare(report, earlier, exported);
  const { surface, from, to, events } = exported;
  reportFaults(report, linkFaults([...events.values()], { from, to }), {
    step: 'events',
    ok: `A process of ${surface} wrote each event, and none is missing between them.`,
    more: 'more events are missing or of unknown origin.',
  });
  const period = `${from === null ? 'from the beginning' : `from ${from}`} to ${to}`;
  report.note(LIMITS);
  return report.finish(`${surface} wrote and signed these ${events.size} audit events ${period}.`);
}

/** Reads the pages of an export one by one, and reports what is wrong with them. */
export class ExportReader {
  readonly #report: Reporter;
  readonly #jwks: Jwks | undefined;
  readonly #events = new Map<string, KnownEvent>();
  #first: AuditPage | undefined;
  #before: AuditPage | undefined;
  #newest = '';
  #pages = 0;
  #sealed = 0;

  constructor(report: Reporter, jwks: Jwks | undefined) {
    this.#report = report;
    this.#jwks = jwks;
  }

  add(line: AuditLine): void {
    const { where } = line;
    const page = pageOf(line);
    const fault = this.#sealFault(page);
    if (fault === undefined) this.#sealed += 1;
    else this.#report.failed(fault.step, { detail: fault.detail, where });
    this.#checkPlace(page, where);
    for (const item of page.items) this.#addEvent(item, page, where);
    this.#first ??= page;
    this.#before = page;
    this.#pages += 1;
  }

  finish(file: string): Export {
    const first = this.#first;
    if (first === undefined) throw new UnreadableError(`${file} holds no page.`);
    if (this.#sealed === this.#pages)
      this.#report.ok('signature', `${file}: a pinned key signed each of ${this.#pages} pages.`);
    if (this.#before?.last !== true)
      this.#report.failed('chain', { detail: 'The export has no last page: its end is missing.', where: file });
    return { surface: first.surface, from: first.from, to: first.to, events: this.#events };
  }

  #sealFault(page: AuditPage): { step: 'hash' | 'signature'; detail: string } | undefined {
    const text = auditPageText(page);
    if (sha256Text(text, 'hex') !== page.hash)
      return { step: 'hash', detail: 'The page was changed after it was hashed.' };
    if (this.#jwks === undefined) return { step: 'signature', detail: 'No key set is pinned.' };
    const verdict = verifyDetached(Bytes.from(text), page.signature, this.#jwks);
    return verdict.ok ? undefined : { step: 'signature', detail: verdict.problem };
  }

  /** Every page but the first names the one before; all are of one surface and one period. */
  #checkPlace(page: AuditPage, where: string): void {
    const [first, before] = [this.#first, this.#before];
    const failed = (detail: string) => this.#report.failed('chain', { detail, where });
    if (page.previous !== (before?.hash ?? null))
      failed(before === undefined ? 'The export does not begin with this page.' : 'A page is missing before this one.');
    if (before?.last === true) failed('A page follows the last page.');
    if (first !== undefined && (page.surface !== first.surface || page.from !== first.from || page.to !== first.to))
      failed('The page is of another export: its surface or period differs.');
  }

  #addEvent(item: JsonValue, { from, to, surface }: AuditPage, where: string): void {
    const event = exportedEvent(item, surface, where);
    const { id, at } = event;
    if (at < this.#newest || at < (from ?? '') || at >= to)
      this.#report.failed('order', { detail: `Event ${id} is out of order or outside the period.`, where });
    if (this.#events.has(id)) this.#report.failed('order', { detail: `Event ${id} occurs twice.`, where });
    this.#newest = at;
    this.#events.set(id, { ...event, text: spokenText(item) });
  }
}

/** Within the period that both cover. */
function compare(report: Reporter, earlier: Export, later: Export): void {
  if (earlier.surface !== later.surface) {
    return report.failed('earlier', {
      detail: 'The two exports are of different surfaces.',
      where: earlier.surface,
      expected: earlier.surface,
      found: later.surface,
    });
  }
  const covered = [...earlier.events].filter(
    ([, { at }]) => (later.from === null || at >= later.from) && at < later.to,
  );
  const faults = covered.flatMap(([id, { text, where }]) => {
    const found = later.events.get(id);
    if (found === undefined) return [{ detail: `Event ${id} of the earlier export is missing.`, where }];
    return found.text === text
      ? []
      : [{ detail: `Event ${id} was changed after the earlier export.`, where: found.where }];
  });
  reportFaults(
    report,
    faults.map((fault) => ({ step: 'earlier', ...fault })),
    {
      step: 'earlier',
      ok: `All ${covered.length} events of the earlier export are unchanged.`,
      more: 'more events are missing or changed.',
    },
  );
}

function reportFaults(
  report: Reporter,
  faults: readonly Readonly<Record<'step' | 'detail' | 'where', string>>[],
  told: Readonly<Record<'step' | 'ok' | 'more', string>>,
): void {
  for (const { step, ...fault } of faults.slice(0, MOST_TOLD)) report.failed(step, fault);
  if (faults.length > MOST_TOLD) report.note(`${faults.length - MOST_TOLD} ${told.more}`);
  if (faults.length === 0) report.ok(told.step, told.ok);
}

/** What an event says, to compare it: a secret may have gone meanwhile, and older versions exported no link. */
function spokenText(item: JsonValue): string {
  const { problem: _problem, link: _link, ...spoken } = item as { [member: string]: JsonValue };
  return canonical(spoken);
}

function pageOf({ value, where }: AuditLine): AuditPage {
  const isPage =
    isObject(value) &&
    value['v'] === 1 &&
    ['surface', 'to', 'at', 'hash', 'signature'].every((name) => typeof value[name] === 'string') &&
    ['from', 'previous'].every((name) => value[name] === null || typeof value[name] === 'string') &&
    typeof value['last'] === 'boolean' &&
    Array.isArray(value['items']);
  if (!isPage) throw new UnreadableError(`${where} is no page of an audit export.`);
  return value as unknown as AuditPage; // Every member was checked.
}
