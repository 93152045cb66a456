import type { ReactNode } from 'react';
import type { Report, Step, StepStatus } from '@sealgate/verify/checks';
import { Icon } from '../../shell/icons.tsx';
import { StateBadge } from '../../shell/state-badge.tsx';
import classes from './verify.module.css';

/** The report of a check: the conclusion, then each step. */
export const ReportView = ({ report }: { report: Report }): ReactNode => (
  <div>
    <Verdict report={report} />
    <Steps report={report} />
  </div>
);

export const Verdict = ({ report }: { report: Report }): ReactNode => (
  <p className={`${classes['verdict']} ${report.verified ? classes['ok'] : classes['failed']}`} role="status">
    <Icon name={report.verified ? 'check' : 'cross'} />
    <span className="wrap">
      <strong>{report.verified ? 'Verified.' : 'Not verified.'}</strong> {report.conclusion}
    </span>
  </p>
);

/** Each step with location, expected and actual value, and the notes. */
export const Steps = ({ report }: { report: Report }): ReactNode => (
  <div>
    <ul className={classes['steps']}>
      {report.steps.map((step, index) => (
        <li key={`${step.step} ${index}`}>
          <div className={classes['stageHead']}>
            <strong>{step.step}</strong>
            <StepMark status={step.status} />
          </div>
          <p className="wrap">{step.detail}</p>
          <Compared step={step} />
        </li>
      ))}
    </ul>
    {report.notes.map((note) => (
      <p key={note} className={`${classes['note']} wrap`}>
        {note}
      </p>
    ))}
  </div>
);

function Compared({ step }: { step: Step }): ReactNode {
  const facts = Object.entries({ where: step.where, expected: step.expected, found: step.found });
  const told = facts.filter(([, value]) => value !== undefined);
  if (told.length === 0) return null;
  return (
    <dl className={classes['facts']}>
      {told.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd className="wrap">
            <code>{value}</code>
          </dd>
        </div>
      ))}
    </dl>
  );
}

/** The result of a step, as word, shape and colour. */
export function StepMark({ status }: { status: StepStatus }): ReactNode {
  if (status === 'ok') return <StateBadge tone="good">Holds</StateBadge>;
  if (status === 'failed') return <StateBadge tone="bad">Fails</StateBadge>;
  return <StateBadge tone="wait">Not checked</StateBadge>;
}
