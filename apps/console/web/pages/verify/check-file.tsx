import { useId, useState, type ReactNode } from 'react';
import { Icon } from '../../shell/icons.tsx';
import type { Fingerprint } from './fingerprints.ts';
import * as texts from './texts.ts';
import classes from './verify.module.css';

/** A file is read into memory to be hashed. */
const FILE_MAX_BYTES = 256 * 1024 * 1024;

interface Result {
  readonly isSame: boolean;
  readonly told: string;
}

async function compare(file: File, fingerprints: readonly Fingerprint[]): Promise<Result> {
  if (file.size > FILE_MAX_BYTES) return { isSame: false, told: texts.isLargerThan256MiB(file.name) };
  const bytes = await file.arrayBuffer().catch(() => undefined);
  if (bytes === undefined) return { isSame: false, told: texts.cannotBeRead(file.name) };
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', bytes));
  const sha256 = Array.from(digest, (byte) => byte.toString(16).padStart(2, '0')).join('');
  const found = fingerprints.find((one) => one.sha256 === sha256);
  if (found !== undefined) return { isSame: true, told: texts.isTheFile(file.name, found.member) };
  const signed = fingerprints.length === 1 ? fingerprints[0]?.sha256 : texts.others(fingerprints.length);
  return { isSame: false, told: texts.isAnotherFile(file.name, signed, sha256) };
}

/** Hashes a file in the browser and compares it with the fingerprints in the content; the file is sent nowhere. */
export function CheckFile({ fingerprints }: { readonly fingerprints: readonly Fingerprint[] }): ReactNode {
  const id = useId();
  const [result, setResult] = useState<Result>();
  if (fingerprints.length === 0) return null;
  const check = async (file: File): Promise<void> => setResult(await compare(file, fingerprints));
  return (
    <div className={classes['checkFile']}>
      <label htmlFor={id}>{texts.checkThisFile}</label>
      <p id={`${id}-help`} className={classes['help']}>
        {texts.checkThisFileHint}
      </p>
      <input
        id={id}
        type="file"
        aria-describedby={`${id}-help`}
        onChange={({ currentTarget: { files } }) => {
          const file = files?.[0];
          if (file !== undefined) void check(file);
        }}
      />
      <div aria-live="polite">
        {result !== undefined && (
          <p className={`${classes['verdict']} ${result.isSame ? classes['ok'] : classes['failed']}`}>
            <Icon name={result.isSame ? 'check' : 'cross'} />
            <span className="wrap">{result.told}</span>
          </p>
        )}
      </div>
    </div>
  );
}
