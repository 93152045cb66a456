import { useState, type ReactNode } from 'react';
import { formatMoment } from '../../shell/formats.ts';
import * as texts from './texts.ts';
import classes from './verify.module.css';

/** A moment as RFC 3339 writes it. */
const MOMENT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)$/;

/** Moments in a sentence of the verifier. */
const MOMENTS = /(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z)/;

export const isMoment = (text: string): boolean => MOMENT.test(text) && !Number.isNaN(Date.parse(text));

/** A sentence of the verifier, with its moments in the reader's time, and as they were written in the tooltip. */
export const Sentence = ({ text }: { readonly text: string }): ReactNode =>
  text
    .split(MOMENTS)
    .map((part, index) =>
      index % 2 === 1 && isMoment(part) ? <LocalTime key={`${index} ${part}`} value={part} /> : part,
    );

const LocalTime = ({ value }: { readonly value: string }): ReactNode => (
  <time dateTime={value} title={value}>
    {formatMoment(new Date(value))}
  </time>
);

/** A moment in the reader's time; as it was written in the tooltip and behind a button. */
export const Moment = ({ value }: { readonly value: string }): ReactNode => (
  <>
    <LocalTime value={value} /> <CopyRaw value={value} label={texts.copyTheTimeAsItWasWritten} />
  </>
);

const SHOWN_CHARACTERS = 16;

/** The beginning of an id that people do not read; whole in the tooltip and behind a button. */
export const RawId = ({ value, label }: { readonly value: string; readonly label: string }): ReactNode => (
  <>
    <code title={value}>{value.length > SHOWN_CHARACTERS ? `${value.slice(0, SHOWN_CHARACTERS)}…` : value}</code>{' '}
    <CopyRaw value={value} label={label} />
  </>
);

/** Copies a value; of plain elements, as it is also in the page that works from a disk. */
function CopyRaw({ value, label }: { readonly value: string; readonly label: string }): ReactNode {
  const [said, setSaid] = useState('Copy');
  const copy = async (): Promise<void> => {
    try {
      await navigator.clipboard.writeText(value);
      setSaid(texts.copied);
    } catch {
      setSaid(texts.theBrowserRefusedToCopy);
    }
  };
  return (
    <button type="button" className={classes['copy']} aria-label={label} onClick={() => void copy()}>
      <span aria-live="polite">{said}</span>
    </button>
  );
}
