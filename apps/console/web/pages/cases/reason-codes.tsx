import type { ReactNode } from 'react';
import classes from './reason-codes.module.css';

/** Reason codes. A long one breaks after an underscore alone. */
export const ReasonCodes = ({ codes }: { readonly codes: readonly string[] }): ReactNode =>
  codes.length === 0 ? (
    '–'
  ) : (
    <span className={classes['codes']}>
      {codes.map((code) => (
        <span key={code}>
          {code.split(/(?<=_)/).map((part, place) => (
            // The parts of a code have no other identity.
            <span key={`${place} ${part}`}>
              {place > 0 && <wbr />}
              {part}
            </span>
          ))}
        </span>
      ))}
    </span>
  );
