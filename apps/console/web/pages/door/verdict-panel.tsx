import { Button } from '@mantine/core';
import type { ReactNode } from 'react';
import classes from './door.module.css';
import type { Verdict } from './judge-answer.ts';
import * as texts from './texts.ts';

/** What the door shows: `about` is the code that was asked about, as it was typed or scanned. */
export type Shown =
  | { readonly state: 'ready' }
  | { readonly state: 'asking'; readonly about: string }
  | { readonly state: 'told'; readonly about: string; readonly verdict: Verdict };

/** How long a verdict is shown: short enough that the next person cannot use it. */
export const SHOWN_SECONDS = 15;

/** Longer texts are no subject, and their beginning tells which code it was. */
const MAX_ABOUT = 70;

export function VerdictPanel({ shown, onNext }: { readonly shown: Shown; readonly onNext: () => void }): ReactNode {
  const verdict = shown.state === 'told' ? shown.verdict : undefined;
  // The gate was not asked, so nothing was denied to a person.
  const isCode = verdict?.code !== 'NOT_A_SUBJECT';
  return (
    <section
      className={classes['verdict']}
      aria-label={texts.verdict}
      aria-live="assertive"
      aria-atomic
      data-verdict={verdict?.decision ?? shown.state}
      data-again={!isCode || undefined}
    >
      {verdict === undefined ? (
        <p className={classes['waiting']}>
          {shown.state === 'asking' ? texts.askingTheGate : texts.readyForTheNextPerson}
        </p>
      ) : (
        <>
          <p className={classes['word']}>
            <span aria-hidden>{verdict.decision === 'allow' ? '✓' : isCode ? '✕' : '↻'}</span>{' '}
            {verdict.decision === 'allow' ? texts.allow : isCode ? texts.deny : texts.again}
          </p>
          <p className={classes['about']}>{shown.state === 'told' && shown.about.slice(0, MAX_ABOUT)}</p>
          <p className={classes['reason']}>{verdict.reason}</p>
          {verdict.advice !== undefined && <p className={classes['advice']}>{verdict.advice}</p>}
          <p className={classes['code']}>
            {verdict.code}
            {verdict.decisionId !== undefined && ` · ${verdict.decisionId}`}
          </p>
          <p>{texts.shownFor(SHOWN_SECONDS)}</p>
          <Button variant="white" color="dark" size="lg" onClick={onNext}>
            {texts.nextPerson}
          </Button>
        </>
      )}
    </section>
  );
}
