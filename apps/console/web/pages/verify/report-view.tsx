import type { ReactNode } from 'react';
import type { Report, Step, StepStatus } from '@sealgate/verify/checks';
import { Icon } from '../../shell/icons.tsx';
import { StateBadge } from '../../shell/state-badge.tsx';
import { Sentence } from './raw-value.tsx';
import { askedBy, failureInWords } from './step-words.ts';
import * as texts from './texts.ts';
import classes from './verify.module.css';

/** The report of a check: the conclusion, then each step. */
export const ReportView = ({ report }: { report: Report }): ReactNode => (
  <div>
    <Verdict report={report} />
    <Steps report={report} />
  </div>
);

export function Verdict({ report: { verified, steps, conclusion } }: { report: Report }): ReactNode {
  const failed = steps.flatMap(({ step, status }) => (status === 'failed' ? [step] : []));
  const reason = failureInWords(failed);
  return (
    <p className={`${classes['verdict']} ${verified ? classes['ok'] : classes['failed']}`} role="status">
      <Icon name={verified ? 'check' : 'cross'} />
      <span className="wrap">
        <strong>{verified ? texts.verified : texts.notVerified}</strong>{' '}
        {reason === undefined ? (
          <Sentence text={conclusion} />
        ) : (
          <>
            {reason} <small>{conclusion}</small>
          </>
        )}
      </span>
    </p>
  );
}

/** Each step with location, expected and actual value, and the notes. */
export const Steps = ({ report }: { report: Report }): ReactNode => (
  <div>
    <ul className={classes['steps']}>
      {report.steps.map((step, index) => (
        <li key={`${step.step} ${index}`}>
          <div className={classes['stageHead']}>
            <strong>{askedBy(step.step)}</strong>
            {askedBy(step.step) !== step.step && <code>{step.step}</code>}
            <StepMark status={step.status} />
          </div>
          <p className="wrap">
            <Sentence text={step.detail} />
          </p>
          <Compared step={step} />
        </li>
      ))}
    </ul>
    {report.notes.map((note) => (
      <p key={note} className={`${classes['note']} wrap`}>
        <Sentence text={note} />
      </p>
    ))}
  </div>
);

function Compared({ step }: { step: Step }): ReactNode {
  const facts = [
    [texts.where, step.where],
    [texts.expected, step.expected],
    [texts.found, step.found],
  ] as const;
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
  if (status === 'ok') return <StateBadge tone="good">{texts.holds}</StateBadge>;
  if (status === 'failed') return <StateBadge tone="bad">{texts.fails}</StateBadge>;
  return <StateBadge tone="wait">{texts.notChecked}</StateBadge>;
}
