import { Findings, type Check } from './check.ts';
import { membersOf } from './canonical.ts';

/** A job that somebody was promised is done, and is one family's alone. */
export function keptPromises(): Check {
  const findings = new Findings('every promised job is done');
  const promised = new Map<string, number>();
  return {
    line(line, number) {
      if (line.is !== 'asked' || line.act !== 'sync' || line.status !== 202) return;
      promised.set(String(membersOf(line.text)['jobId']), number);
    },
    async close(databases) {
      if (!databases.has('ledger-peer')) return findings.verdict();
      const rows = await databases.rows<{ job_id: string; status: string }>(
        'ledger-peer',
        'SELECT job_id, status FROM peer.jobs WHERE promised',
      );
      const states = new Map(rows.map(({ job_id, status }) => [job_id, status]));
      for (const [id, number] of promised)
        findings.judge(
          states.get(id) !== 'done' && `line ${number}: the job ${id} is ${states.get(id) ?? 'not there'}`,
        );
      for (const [id, status] of states)
        if (status !== 'done') findings.judge(!promised.has(id) && `the job ${id} is ${status}`);
      return findings.verdict();
    },
  };
}
