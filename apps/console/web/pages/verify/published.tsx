import { useState, type ReactNode } from 'react';
import type { Pins } from './pins.ts';
import type { NamedFile } from './sort-file.ts';
import * as texts from './texts.ts';
import classes from './verify.module.css';

/** The keys that this site publishes. */
export interface PublishedKeys {
  /** Where they are, for people. */
  readonly where: string;
  /** The keys for these files. Throws an Error for people. */
  readonly take: (files: readonly NamedFile[]) => Promise<Partial<Pins>>;
}

interface PublishedProps {
  readonly from: PublishedKeys;
  readonly files: readonly NamedFile[];
  readonly onTaken: (keys: Partial<Pins>) => void;
}

/** Takes the published keys with a click, and tells what that means. */
export function Published({ from, files, onTaken }: PublishedProps): ReactNode {
  const [state, setState] = useState<{ readonly isBusy: boolean; readonly fault?: string }>({ isBusy: false });
  const take = async (): Promise<void> => {
    setState({ isBusy: true });
    try {
      onTaken(await from.take(files));
      setState({ isBusy: false });
    } catch (error) {
      setState({ isBusy: false, fault: error instanceof Error ? error.message : String(error) });
    }
  };
  return (
    <div className={classes['published']}>
      <button type="button" className={classes['button']} onClick={() => void take()} disabled={state.isBusy}>
        {texts.useThisLedgersPublishedKeys}
      </button>
      <p className={classes['help']}>{texts.publishedHint(<code className="wrap">{from.where}</code>)}</p>
      {state.fault !== undefined && (
        <p role="alert" className={`${classes['verdict']} ${classes['failed']}`}>
          <span className="wrap">{state.fault}</span>
        </p>
      )}
    </div>
  );
}
