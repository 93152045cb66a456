import type { ReactNode } from 'react';
import type { JsonValue } from '@sealgate/json';
import type { ReceiptFile, Report } from '@sealgate/verify/checks';
import { formatNumber } from '../../shell/formats.ts';
import { textOf, type ChangedMember } from './changed-members.ts';
import { isMoment, Moment, RawId } from './raw-value.tsx';
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
    <strong>
      {isProved ? 'A record' : 'The file tells of a record'} of type {receipt.type}
    </strong>
    <span>
      {' '}
      in {receipt.channel}, written <Moment value={receipt.at} />
    </span>
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
    <section className={classes['written']} aria-label="What was written">
      <h3>{report.verified ? 'What was written' : 'What the file says was written'}</h3>
      <dl className={classes['members']}>
        <Member name="Record" value={receipt.id} />
        <Member name="Type" value={receipt.type} />
        {receipt.owner !== null && <Member name="Owner" value={receipt.owner} />}
        <Member name="Channel" value={receipt.channel} />
        <Member name="Written at" value={receipt.at} />
        <Member name="Transaction" value={receipt.transactionId} isId />
      </dl>
      <h4>{isChanged ? 'The content in your file, which is not what was written' : 'Its content'}</h4>
      {isErased || content === undefined || content === null ? (
        <p className={classes['help']}>
          {isErased
            ? 'It was erased: something was written then, and nobody can tell any more what.'
            : 'It is not in this proof. Drop the content, or a proof that was saved with it, to see and check it.'}
        </p>
      ) : (
        <Content value={content} />
      )}
      {!isErased && receipt.extra !== null && (
        <>
          <h4>Beside it</h4>
          <Content value={receipt.extra} />
        </>
      )}
    </section>
  );
}

/** The members of an object, or a value. */
export function Content({ value }: { readonly value: JsonValue }): ReactNode {
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
  const members = isObject ? Object.entries(value) : [['value', value] as const];
  const rest = members.length - SHOWN_MEMBERS;
  return (
    <dl className={classes['members']}>
      {members.slice(0, SHOWN_MEMBERS).map(([name, inner]) => (
        <Member key={name} name={name} value={textOf(inner) ?? ''} />
      ))}
      {rest > 0 && <Member name="and" value={`${formatNumber(rest)} more members`} />}
    </dl>
  );
}

interface MemberProps {
  readonly name: string;
  readonly value: string;
  /** An id that says nothing to people. */
  readonly isId?: boolean;
}

const Member = ({ name, value, isId = false }: MemberProps): ReactNode => (
  <div>
    <dt className="wrap">{name}</dt>
    <dd className="wrap">
      {isId ? <RawId value={value} label={`the ${name.toLowerCase()}`} /> : <Value text={value} />}
    </dd>
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
    <ul className={classes['changed']} aria-label="Changed members">
      {members.map(({ member, signed, found }) => (
        <li key={member} className="wrap">
          <strong>{member}</strong>{' '}
          <span>
            signed: {shortened(signed)}; in your file: {shortened(found)}
          </span>
        </li>
      ))}
    </ul>
  );
}

const shortened = (text: string | undefined): string => (text === undefined ? 'nothing' : text.slice(0, 200));
