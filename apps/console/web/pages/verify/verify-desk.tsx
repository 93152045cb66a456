import { useEffect, useId, useState, type ChangeEvent, type DragEvent, type ReactNode } from 'react';
import type { ReceiptFile } from '@sealgate/verify/checks';
import { Icon } from '../../shell/icons.tsx';
import { checkFiles, type Checked } from './check-files.ts';
import { useLinkedProof } from './linked-proof.ts';
import { noPins, type Pins } from './pins.ts';
import { Published, type PublishedKeys } from './published.tsx';
import { Reported } from './reported.tsx';
import { sortFile, type NamedFile } from './sort-file.ts';
import * as texts from './texts.ts';
import classes from './verify.module.css';
import { Subject } from './written.tsx';

const titles = {
  receipt: texts.aRecordAndItsProof,
  proof: texts.aStandAloneProof,
  answer: texts.anAnswerToAWrite,
  checkpoint: texts.aCheckpoint,
  consistency: texts.twoCheckpointsOfOneLog,
  decision: texts.aDecisionOfTheGate,
  declaration: texts.aDeclaredLoss,
  envelope: texts.aPartnerEnvelope,
  fabric: texts.aRecordOnFabricAndItsProof,
  eligibility: texts.anEligibilityRecord,
  pack: texts.anAssessorPack,
  delivery: texts.aDeliveryAndItsRecord,
  signed: texts.aSignedDocument,
  keys: texts.aKeySet,
  policy: texts.aPolicyOfWitnesses,
  trust: texts.theTrustFileOfAFabric,
  unreadable: texts.notChecked,
  unkeyed: texts.notCheckedYet,
} as const;

/** Maximum number of files dropped at once. */
const MAX_FILES = 20;

/** Maximum file size, far above every proof, envelope and pack; larger files are refused before reading. */
const FILE_MAX_BYTES = 8 * 1024 * 1024;

/** The reason not to read a file; undefined if it is acceptable. */
function refusalOf({ size }: File, index: number): string | undefined {
  if (index >= MAX_FILES) return texts.tooManyFiles(MAX_FILES);
  if (size <= FILE_MAX_BYTES) return undefined;
  const megabytes = (size / 1_000_000).toFixed(1);
  return texts.fileTooLarge(megabytes, FILE_MAX_BYTES / 1_048_576);
}

/** Reads the files. Refused and unreadable ones are reported. */
async function readFiles(files: readonly File[]): Promise<{ readonly read: NamedFile[]; readonly refused: Checked[] }> {
  const read: NamedFile[] = [];
  const refused: Checked[] = [];
  for (const [index, file] of files.entries()) {
    const { name } = file;
    const why = refusalOf(file, index);
    // Folders and deleted files cannot be read.
    const buffer = why === undefined ? await file.arrayBuffer().catch(() => undefined) : undefined;
    if (buffer === undefined) refused.push({ kind: 'unreadable', name, why: why ?? texts.fileUnreadable });
    else read.push({ name, bytes: new Uint8Array(buffer) });
  }
  return { read, refused };
}

/** Prevents the browser from opening a file dropped outside the field, which would lose the input. */
function useNoOpening(): void {
  useEffect(() => {
    const stop = (event: Event): void => event.preventDefault();
    for (const name of ['dragover', 'drop']) window.addEventListener(name, stop);
    return () => {
      for (const name of ['dragover', 'drop']) window.removeEventListener(name, stop);
    };
  }, []);
}

interface Given {
  readonly files: readonly NamedFile[];
  readonly refused: readonly Checked[];
}

/** The files, the keys, and the results, which are made anew whenever one of both changes on purpose. */
function useDesk() {
  const [pins, setPins] = useState(noPins);
  const [given, setGiven] = useState<Given>({ files: [], refused: [] });
  const [results, setResults] = useState<readonly Checked[]>([]);
  const [isBusy, setBusy] = useState(false);
  const check = async (next: Given, before: Pins): Promise<void> => {
    setBusy(true);
    setGiven(next);
    try {
      // Together, as some depend on others.
      const found = [...(await checkFiles(next.files, before)), ...next.refused];
      const keys = found.findLast((one) => one.kind === 'keys');
      const policy = found.findLast((one) => one.kind === 'policy');
      const trust = found.findLast((one) => one.kind === 'trust');
      setPins({
        ...before,
        ...(keys && { jwks: keys.text }),
        ...(policy && { policy: policy.text }),
        ...(trust && { trust: trust.text }),
      });
      setResults(found);
    } finally {
      setBusy(false);
    }
  };
  return { pins, setPins, given, results, isBusy, check };
}

interface DeskProps {
  readonly published?: PublishedKeys | undefined;
  /** Shown below a verified receipt. */
  readonly besideReceipt?: ((receipt: ReceiptFile) => ReactNode) | undefined;
}

/**
 * The drop area and the results: everything happens in this page. Uses plain elements and style sheets, as it is also
 * part of the page that works from a disk, which has no `published` keys to ask for.
 */
export function VerifyDesk({ published, besideReceipt }: DeskProps): ReactNode {
  const { pins, setPins, given, results, isBusy, check } = useDesk();
  useNoOpening();
  const linked = useLinkedProof((files, refused) => void check({ files, refused }, pins));
  const drop = async (chosen: readonly File[]): Promise<void> => {
    const { read, refused } = await readFiles(chosen);
    // What belongs to the proof of a link: its content, say.
    const isBeside = read.length > 0 && read.every((file) => sortFile(file).is === 'other');
    await check({ files: isBeside ? [...linked, ...read] : read, refused }, pins);
  };
  const use = (keys: Partial<Pins>): void => {
    const next = { ...pins, ...keys };
    setPins(next);
    if (given.files.length > 0) void check(given, next);
  };
  const keys = published !== undefined && <Published from={published} files={given.files} onTaken={use} />;
  const isKeyless = pins.logKeys.trim() === '';
  const waiting = isKeyless ? results.find((one) => one.kind === 'unkeyed' && one.lacks === 'log') : undefined;
  const shown = (
    <div aria-live="polite" className={classes['results']}>
      {results.map((result, index) => (
        <Result key={`${result.name} ${index}`} result={result} besideReceipt={besideReceipt}>
          {result === waiting && keys}
        </Result>
      ))}
    </div>
  );
  // Who followed a link came for its proof, and did not drop anything.
  const isLinked = linked.length > 0 && given.files.includes(linked[0]!);
  return (
    <div className={classes['desk']}>
      {isLinked && shown}
      <Pinned pins={pins} onChange={setPins}>
        {waiting === undefined && keys}
      </Pinned>
      <DropField onFiles={(chosen) => void drop(chosen)} />
      {given.files.length + given.refused.length > 0 && (
        <button type="button" className={classes['button']} onClick={() => void check(given, pins)} disabled={isBusy}>
          {texts.checkAgainWithTheseKeys}
        </button>
      )}
      {!isLinked && shown}
    </div>
  );
}

interface PinnedProps {
  readonly pins: Pins;
  readonly onChange: (pins: Pins) => void;
  /** Shown below the field for log keys. */
  readonly children: ReactNode;
}

function Pinned({ pins, onChange, children }: PinnedProps): ReactNode {
  const id = useId();
  const set =
    (name: keyof Pins) =>
    ({ currentTarget }: ChangeEvent<HTMLTextAreaElement>): void =>
      onChange({ ...pins, [name]: currentTarget.value });
  return (
    <section className={classes['card']} aria-labelledby={`${id}-title`}>
      <h2 id={`${id}-title`}>{texts.whatYouTrust}</h2>
      <label htmlFor={`${id}-log`}>{texts.keyOfTheLog}</label>
      <p id={`${id}-log-help`} className={classes['help']}>
        {texts.keyOfTheLogHint}
      </p>
      <textarea
        id={`${id}-log`}
        aria-describedby={`${id}-log-help`}
        rows={2}
        spellCheck={false}
        value={pins.logKeys}
        onChange={set('logKeys')}
      />
      {children}
      <details>
        <summary>{texts.moreKeysAndSignatures}</summary>
        <label htmlFor={`${id}-policy`}>{texts.policyLabel}</label>
        <textarea id={`${id}-policy`} rows={3} spellCheck={false} value={pins.policy} onChange={set('policy')} />
        <label htmlFor={`${id}-jwks`}>{texts.keySetLabel}</label>
        <textarea id={`${id}-jwks`} rows={3} spellCheck={false} value={pins.jwks} onChange={set('jwks')} />
        <label htmlFor={`${id}-jws`}>{texts.signatureLabel}</label>
        <textarea id={`${id}-jws`} rows={2} spellCheck={false} value={pins.signature} onChange={set('signature')} />
        <label htmlFor={`${id}-sender`}>{texts.senderKeysLabel}</label>
        <textarea
          id={`${id}-sender`}
          rows={2}
          spellCheck={false}
          value={pins.senderKeys}
          onChange={set('senderKeys')}
        />
      </details>
    </section>
  );
}

function DropField({ onFiles }: { onFiles: (files: readonly File[]) => void }): ReactNode {
  const [isOver, setOver] = useState(false);
  const onDrop = (event: DragEvent): void => {
    event.preventDefault();
    setOver(false);
    onFiles([...event.dataTransfer.files]);
  };
  return (
    <label
      className={`${classes['drop']} ${isOver ? classes['over'] : ''}`}
      onDragOver={(event) => {
        event.preventDefault();
        setOver(true);
      }}
      onDragLeave={() => setOver(false)}
      onDrop={onDrop}
    >
      <Icon name="file" size={28} />
      <strong>{texts.dropFilesHere}</strong>
      <span>{texts.dropFilesHint}</span>
      <input
        type="file"
        multiple
        className="visually-hidden"
        onChange={(event) => {
          onFiles([...(event.currentTarget.files ?? [])]);
          event.currentTarget.value = '';
        }}
      />
    </label>
  );
}

interface ResultProps extends Pick<DeskProps, 'besideReceipt'> {
  readonly result: Checked;
  /** Shown where a key is missing. */
  readonly children: ReactNode;
}

const Result = ({ result, besideReceipt, children }: ResultProps): ReactNode => (
  <section className={classes['card']} data-kind={result.kind} aria-label={`${titles[result.kind]}: ${result.name}`}>
    <h2 className="wrap">
      {titles[result.kind]} <span className={classes['file']}>{result.name}</span>
    </h2>
    {result.kind === 'unkeyed' && (
      <>
        {result.about !== undefined && <Subject file={result.about} isProved={false} />}
        {children}
        <p className={`${classes['verdict']} ${classes['open']}`} role="status">
          <Icon name="networks" />
          <span className="wrap">{result.why}</span>
        </p>
      </>
    )}
    {result.kind === 'unreadable' && (
      <p className={`${classes['verdict']} ${classes['failed']}`} role="status">
        <Icon name="cross" />
        <span className="wrap">{result.why}</span>
      </p>
    )}
    {result.kind === 'keys' && <p>{texts.keysAreTrustedNow}</p>}
    {result.kind === 'policy' && <p>{texts.policyIsUsedNow}</p>}
    {result.kind === 'trust' && <p>{texts.organisationsAreTrustedNow}</p>}
    {'report' in result && <Reported result={result} />}
    {'receipt' in result && result.report.verified && besideReceipt?.(result.receipt)}
  </section>
);
