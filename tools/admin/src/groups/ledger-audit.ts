import { segment } from '../admin-api.ts';
import { EXIT_CODES } from '../errors.ts';
import { isObject, type JsonObject } from '../json-object.ts';
import type { Row } from '../row-command.ts';
import { rowFields } from '../row-table.ts';

interface AuditOptions {
  readonly id?: string;
  readonly detach?: true;
}

const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 10_000;

export const audit: Row = {
  operation: 'beginAudit',
  summary: 'Audit a whole channel, and report the first record that differs from what was written, with exit code 3',
  details:
    'The audit runs in the service, which reports its progress. After Ctrl-C, run the command again to join the running audit, or with --id to query one that may have finished. Its result is lost when the process that runs it exits.',
  examples: [
    'sealgate ledger audit acme.main',
    'sealgate ledger audit acme.main --detach',
    'sealgate ledger audit acme.main --id aud_0190',
  ],
  options: {
    '--id <auditId>': { words: 'wait for an earlier audit', sets: null },
    '--detach': { words: 'start it, print its id and exit', sets: null },
  },
  run: async (session, request, [channel = ''], given) => {
    const { id, detach } = given as AuditOptions;
    const find = (auditId: string) => session.api.json({ method: 'GET', path: `${request.path}/${segment(auditId)}` });
    let answer = id === undefined ? await session.api.json(request) : await find(id);
    const auditId = String(answer.value['auditId']);
    if (detach === true) {
      session.show(answer, rowFields);
      return EXIT_CODES.done;
    }
    if (!session.json && answer.value['status'] === 'running') {
      session.note(
        `Audit ${auditId}. Ctrl-C leaves it running; to wait for it again: sealgate ledger audit ${channel} --id ${auditId}\n`,
      );
    }
    for (
      let pauseMs = FIRST_PAUSE_MS;
      answer.value['status'] === 'running';
      pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS)
    ) {
      if (!session.json) session.note(`${progressText(answer.value)}\n`);
      await session.pause(pauseMs);
      answer = await find(auditId);
    }
    const { report, failure } = answer.value;
    if (!isObject(report)) {
      // A service of an older version tells no reason.
      const reason = typeof failure === 'string' ? failure : 'The ledger cannot be reached, or refuses it.';
      session.note(`sealgate: audit ${auditId} could not be completed: ${reason}\n`);
      return EXIT_CODES.refused;
    }
    session.show({ text: JSON.stringify(report), value: report }, auditText);
    // Only an explicit true counts.
    return report['ok'] === true ? EXIT_CODES.done : EXIT_CODES.auditFailed;
  },
};

function progressText({ walked, size }: JsonObject): string {
  const share = Number(size) === 0 ? 100 : Math.floor((100 * Number(walked)) / Number(size));
  return `${String(walked)} of ${String(size)} records (${share} %)`;
}

function auditText(report: JsonObject): string {
  const verdict = report['ok'] === true ? 'All records are intact.' : 'NOT ALL RECORDS ARE INTACT.';
  return `${verdict}\n\n${rowFields(report)}`;
}
