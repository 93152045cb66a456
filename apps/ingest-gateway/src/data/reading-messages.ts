import type { ErrorCode, Fault } from '@sealgate/errors';
import type { AnyReading, AnyRules } from '../domain/read-submission.ts';

/** What the main thread asks the reading thread: one at a time. */
export interface ReadingRequest {
  readonly bytes: Uint8Array;
  readonly rules: AnyRules;
}

/** What comes back. A refusal is taken apart because an error that is sent to another thread loses its class. */
export type ReadingAnswer =
  | { readonly submission: AnyReading }
  | { readonly refusal: { readonly code: ErrorCode; readonly detail: string; readonly faults: readonly Fault[] } };
