import type { ReactNode } from 'react';
import type { JsonValue } from '@sealgate/json';
import type { ReceiptFile, Report } from '@sealgate/verify/checks';
import { formatNumber } from '../../shell/formats.ts';
import { textOf, type ChangedMember } from './changed-members.ts';
import { isMoment, Moment, RawId } from './raw-value.tsx';
import * as texts from './texts.ts';
import classes from './verify.module.css';

interface WrittenProps {
  readonly file: ReceiptFile;
  readonly report: Report;
  /** Content that was given beside the file; it comes first. */
  readonly dropped?: JsonValue | undefined;
}

/** What a proof is about: a record, or what its file says of one. */
export const Subject = ({
  file: { receipt },
  isProved,
}: {
  readonly file: ReceiptFile;
  readonly isProved: boolean;
}): ReactNode => (
  <p className={classes['subject']}>
    <strong>{isProved ? texts.aRecordOfType(receipt.type) : texts.theFileTellsOfARecord(receipt.type)}</strong>
    <span> {texts.inChannelWrittenAt(receipt.channel, <Moment value={receipt.at} />)}</span>
  </p>
);

/** Longer values are cut: a record may have a megabyte. */
const SHOWN_CHARACTERS = 2_000;
const SHOWN_MEMBERS = 100;

/** What was written: the members of the record and of its content. */
export function Written({ file, report, dropped }: WrittenProps): ReactNode {
  const { receipt, contents } = file;
  const content = dropped ?? contents[0]?.data;
  const isErased = receipt.salt === null;
  const isChanged = report.steps.some(({ step, status }) => step === 'content' && status === 'failed');
  return (
    <section className={classes['written']} aria-label={texts.whatWasWritten}>
      <h3>{report.verified ? texts.whatWasWritten : texts.whatTheFileSaysWasWritten}</h3>
      <dl className={classes['members']}>
        <Member name={texts.record} value={receipt.id} />
        <Member name={texts.type} value={receipt.type} />
        {receipt.owner !== null && <Member name={texts.owner} value={receipt.owner} />}
        <Member name={texts.channel} value={receipt.channel} />
        <Member name={texts.writtenAt} value={receipt.at} />
        <Member name={texts.transaction} value={receipt.transactionId} copies={texts.copyTheTransaction} />
      </dl>
      <h4>{isChanged ? texts.contentIsNotWhatWasWritten : texts.itsContent}</h4>
      {isErased || content === undefined || content === null ? (
        <p className={classes['help']}>{isErased ? texts.contentWasErased : texts.contentIsNotInProof}</p>
      ) : (
        <Content value={content} />
      )}
      {!isErased && receipt.extra !== null && (
        <>
          <h4>{texts.besideIt}</h4>
          <Content value={receipt.extra} />
        </>
      )}
    </section>
  );
}

/** The members of an object, or a value. */
export function Content({ value }: { readonly value: JsonValue }): ReactNode {
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
  const members = isObject ? Object.entries(value) : [[texts.value, value] as const];
  const rest = members.length - SHOWN_MEMBERS;
  return (
    <dl className={classes['members']}>
      {members.slice(0, SHOWN_MEMBERS).map(([name, inner]) => (
        <Member key={name} name={name} value={textOf(inner) ?? ''} />
      ))}
      {rest > 0 && <Member name={texts.and} value={texts.moreMembers(formatNumber(rest))} />}
    </dl>
  );
}

interface MemberProps {
  readonly name: string;
  readonly value: string;
  /** Of an id that says nothing to people: the accessible name of the button that copies it. */
  readonly copies?: string;
}

const Member = ({ name, value, copies }: MemberProps): ReactNode => (
  <div>
    <dt className="wrap">{name}</dt>
    <dd className="wrap">{copies === undefined ? <Value text={value} /> : <RawId value={value} label={copies} />}</dd>
  </div>
);

function Value({ text }: { readonly text: string }): ReactNode {
  if (isMoment(text)) return <Moment value={text} />;
  return text.length > SHOWN_CHARACTERS ? `${text.slice(0, SHOWN_CHARACTERS)}…` : text;
}

/** The members that somebody changed, each with what was signed. */
export function Changed({ members }: { readonly members: readonly ChangedMember[] }): ReactNode {
  if (members.length === 0) return null;
  return (
    <ul className={classes['changed']} aria-label={texts.changedMembers}>
      {members.map(({ member, signed, found }) => (
        <li key={member} className="wrap">
          <strong>{member}</strong> <span>{texts.signedAndFound(shortened(signed), shortened(found))}</span>
        </li>
      ))}
    </ul>
  );
}

const shortened = (text: string | undefined): string => (text === undefined ? texts.nothing : text.slice(0, 200));
