import { useId, useState, type ChangeEvent, type DragEvent, type ReactNode } from 'react';
import { Icon } from '../../shell/icons.tsx';
import { FILE_MAX_BYTES, checkFile, type Checked, type Pins } from './check-file.ts';
import { ProofDrawing } from './proof-drawing.tsx';
import { ReportView } from './report-view.tsx';
import classes from './verify.module.css';

const titles = {
  receipt: 'A record and its proof',
  checkpoint: 'A checkpoint',
  envelope: 'A partner envelope',
  pack: 'An assessor pack',
  keys: 'A key set',
  unreadable: 'Not checked',
} as const;

/** More files than this at once are no drop by hand. */
const MOST_FILES = 20;

const noPins: Pins = { logKeys: '', jwks: '', signature: '' };

async function readAndCheck(file: File, pins: Pins): Promise<Checked> {
  if (file.size > FILE_MAX_BYTES) {
    const megabytes = (file.size / 1_000_000).toFixed(1);
    const why = `The file has ${megabytes} MB; proofs, envelopes and packs have at most ${FILE_MAX_BYTES / 1_048_576} MiB. It was not read.`;
    return { kind: 'unreadable', name: file.name, why };
  }
  return checkFile({ name: file.name, bytes: new Uint8Array(await file.arrayBuffer()) }, pins);
}

/**
 * Where files are dropped and checked: in this page, without sending anything. Plain elements and style sheets alone, since
 * it is also the page that works from a disk. `helpWithKeys` stands under the field of the log's key.
 */
export function VerifyDesk({ helpWithKeys }: { helpWithKeys?: (use: (keys: string) => void) => ReactNode }): ReactNode {
  const [pins, setPins] = useState(noPins);
  const [results, setResults] = useState<readonly Checked[]>([]);
  const [files, setFiles] = useState<readonly File[]>([]);
  const [isBusy, setBusy] = useState(false);
  const check = async (chosen: readonly File[], before: Pins): Promise<void> => {
    setBusy(true);
    setFiles(chosen);
    let current = before;
    const found: Checked[] = [];
    for (const file of chosen.slice(0, MOST_FILES)) {
      const result = await readAndCheck(file, current);
      if (result.kind === 'keys') current = { ...current, jwks: result.jwks };
      found.push(result);
    }
    setPins(current);
    setResults(found);
    setBusy(false);
  };
  return (
    <div className={classes['desk']}>
      <Pinned pins={pins} onChange={setPins} helpWithKeys={helpWithKeys} />
      <DropField onFiles={(chosen) => void check(chosen, pins)} />
      {files.length > 0 && (
        <button type="button" className={classes['button']} onClick={() => void check(files, pins)} disabled={isBusy}>
          Check again with these keys
        </button>
      )}
      <div aria-live="polite" className={classes['results']}>
        {results.map((result, index) => (
          <Result key={`${result.name} ${index}`} result={result} />
        ))}
      </div>
    </div>
  );
}

interface PinnedProps {
  readonly pins: Pins;
  readonly onChange: (pins: Pins) => void;
  readonly helpWithKeys: ((use: (keys: string) => void) => ReactNode) | undefined;
}

function Pinned({ pins, onChange, helpWithKeys }: PinnedProps): ReactNode {
  const id = useId();
  const set =
    (name: keyof Pins) =>
    ({ currentTarget }: ChangeEvent<HTMLTextAreaElement>): void =>
      onChange({ ...pins, [name]: currentTarget.value });
  return (
    <section className={classes['card']} aria-labelledby={`${id}-title`}>
      <h2 id={`${id}-title`}>What you trust</h2>
      <label htmlFor={`${id}-log`}>Key of the log</label>
      <p id={`${id}-log-help`} className={classes['help']}>
        As name+id+key, one a line. A key that comes with what it judges proves nothing: take it from where you trust
        it.
      </p>
      <textarea
        id={`${id}-log`}
        aria-describedby={`${id}-log-help`}
        rows={2}
        spellCheck={false}
        value={pins.logKeys}
        onChange={set('logKeys')}
      />
      {helpWithKeys?.((logKeys) => onChange({ ...pins, logKeys }))}
      <details>
        <summary>For envelopes and packs: the keys and the signature of documents</summary>
        <label htmlFor={`${id}-jwks`}>Key set (JWKS); it may be dropped as a file</label>
        <textarea id={`${id}-jwks`} rows={3} spellCheck={false} value={pins.jwks} onChange={set('jwks')} />
        <label htmlFor={`${id}-jws`}>Evidence-Signature of an envelope</label>
        <textarea id={`${id}-jws`} rows={2} spellCheck={false} value={pins.signature} onChange={set('signature')} />
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
      <strong>Drop files here, or choose them</strong>
      <span>A proof, checkpoint, envelope or pack. Nothing leaves this page.</span>
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

const Result = ({ result }: { result: Checked }): ReactNode => (
  <section className={classes['card']} aria-label={`${titles[result.kind]}: ${result.name}`}>
    <h2 className="wrap">
      {titles[result.kind]} <span className={classes['file']}>{result.name}</span>
    </h2>
    {result.kind === 'unreadable' && (
      <p className={`${classes['verdict']} ${classes['failed']}`} role="status">
        <Icon name="cross" />
        <span className="wrap">{result.why}</span>
      </p>
    )}
    {result.kind === 'keys' && <p>Its keys are trusted now for envelopes and packs.</p>}
    {'report' in result && (
      <div className={'receipt' in result ? classes['beside'] : ''}>
        <ReportView report={result.report} />
        {result.kind === 'receipt' && result.receipt !== undefined && (
          <ProofDrawing file={result.receipt} report={result.report} />
        )}
      </div>
    )}
  </section>
);
