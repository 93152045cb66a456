import type { ReactNode } from 'react';
import { changedMembers } from './changed-members.ts';
import { CheckFile } from './check-file.tsx';
import type { Checked } from './check-files.ts';
import { fingerprintsIn } from './fingerprints.ts';
import { ProofDrawing } from './proof-drawing.tsx';
import { ReportView } from './report-view.tsx';
import classes from './verify.module.css';
import { Changed, Written } from './written.tsx';

/** A checked file: what was checked, and for a record what was written beside it. */
export function Reported({ result }: { readonly result: Extract<Checked, { readonly report: unknown }> }): ReactNode {
  const { report, receipt, dropped } = result;
  if (receipt === undefined) return <ReportView report={report} />;
  const isContent = report.steps.some(({ step, status }) => step === 'content' && status === 'ok');
  const written = { data: dropped ?? receipt.contents[0]?.data ?? null, extra: receipt.receipt.extra };
  return (
    <div className={classes['beside']}>
      <div className={classes['written']}>
        <Changed members={changedMembers(receipt, report, dropped)} />
        <Written file={receipt} report={report} dropped={dropped} />
        {/* Only fingerprints that were proved say something about a file. */}
        {report.verified && isContent && <CheckFile fingerprints={fingerprintsIn(written)} />}
      </div>
      <div className={classes['written']}>
        <ReportView report={report} />
        <ProofDrawing file={receipt} report={report} />
      </div>
    </div>
  );
}
