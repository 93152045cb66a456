import type { ReactNode } from 'react';
import type { DecisionFile, ReceiptFile, Report } from '@sealgate/verify/checks';
import { formatNumber } from '../../shell/formats.ts';
import { changedMembers } from './changed-members.ts';
import { CheckFile } from './check-file.tsx';
import type { Checked } from './check-files.ts';
import { fingerprintsIn } from './fingerprints.ts';
import { ProofDrawing } from './proof-drawing.tsx';
import { Steps, Verdict } from './report-view.tsx';
import * as texts from './texts.ts';
import classes from './verify.module.css';
import { Changed, Content, Subject, Written } from './written.tsx';

interface ReportedProps {
  readonly result: Extract<Checked, { readonly report: unknown }>;
  /** What can be done with it: shown below the verdict, before everything that explains it. */
  readonly children?: ReactNode;
}

/** A checked file: what it is about and the verdict, then what was written beside what was checked. */
export function Reported({ result, children }: ReportedProps): ReactNode {
  const { report, receipt, decision } = result;
  return (
    <div className={classes['written']}>
      {receipt !== undefined && <Subject file={receipt} isProved={report.verified} />}
      <Verdict report={report} />
      {children}
      {decision !== undefined ? (
        <Decided file={decision} report={report} />
      ) : receipt !== undefined ? (
        <OfRecord result={result} receipt={receipt} />
      ) : (
        <Steps report={report} />
      )}
    </div>
  );
}

function OfRecord({
  result: { report, dropped },
  receipt,
}: Pick<ReportedProps, 'result'> & { readonly receipt: ReceiptFile }): ReactNode {
  const isContent = report.steps.some(({ step, status }) => step === 'content' && status === 'ok');
  // Everything else holds, so that only the content is another.
  const isOtherContent =
    receipt.receipt.salt !== null &&
    report.steps.every(({ step, status }) => (step === 'content') === (status === 'failed'));
  const changed = changedMembers(receipt, report, dropped);
  const written = { data: dropped ?? receipt.contents[0]?.data ?? null, extra: receipt.receipt.extra };
  return (
    <div className={classes['beside']}>
      <div className={classes['written']}>
        <Changed members={changed} />
        {changed.length === 0 && isOtherContent && <p className={classes['help']}>{texts.whichMemberWasChanged}</p>}
        <Written file={receipt} report={report} dropped={dropped} />
        {/* Only fingerprints that were proved say something about a file. */}
        {report.verified && isContent && <CheckFile fingerprints={fingerprintsIn(written)} />}
      </div>
      <div className={classes['written']}>
        <Steps report={report} />
        <ProofDrawing file={receipt} report={report} />
      </div>
    </div>
  );
}

/** A decision of the gate beside the proof of the head of its chain. */
function Decided({ file, report }: { readonly file: DecisionFile; readonly report: Report }): ReactNode {
  const { decision, following, head, receipt } = file;
  return (
    <div className={classes['beside']}>
      <section className={classes['written']} aria-label={texts.whatWasDecided}>
        <h3>{report.verified ? texts.whatWasDecided : texts.whatTheFileSaysWasDecided}</h3>
        <Content value={{ ...decision, reason_codes: [...decision.reason_codes] }} />
        <p className={classes['help']}>
          {texts.decisionChainHint(formatNumber(following.length), formatNumber(head.last_seq))}
        </p>
      </section>
      <div className={classes['written']}>
        <Steps report={report} />
        <ProofDrawing file={receipt} report={report} />
      </div>
    </div>
  );
}
