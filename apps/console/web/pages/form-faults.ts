import { useEffect } from 'react';
import type { FormErrors } from '@mantine/form';
import { ProblemError } from '../shell/problem.ts';

interface Form {
  readonly setErrors: (errors: FormErrors) => void;
  readonly isDirty: () => boolean;
}

/**
 * The faults that a service names, by field: a JSON pointer (RFC 6901) into the body is the path of a field, and a fault
 * inside of a list or member is at the field of the whole as well.
 */
export function faultsOf(error: unknown): Readonly<Record<string, string>> {
  if (!(error instanceof ProblemError)) return {};
  const faults: Record<string, string> = {};
  for (const { pointer = '', detail } of error.problem.errors ?? []) {
    const steps = pointer.split('/').slice(1).map(unescaped);
    steps.forEach((_step, index) => {
      faults[steps.slice(0, index + 1).join('.')] ??= detail;
    });
  }
  return faults;
}

const unescaped = (step: string): string => step.replaceAll('~1', '/').replaceAll('~0', '~');

/**
 * For every form: shows the faults that the service names at their fields, and asks before the page is left with input
 * that was not sent.
 */
export function useFormFaults(form: Form, error: unknown): void {
  const { setErrors } = form;
  useEffect(() => {
    if (error !== null) setErrors(faultsOf(error));
  }, [error, setErrors]);
  const isDirty = form.isDirty();
  useEffect(() => {
    if (!isDirty) return undefined;
    const ask = (event: BeforeUnloadEvent): void => event.preventDefault();
    globalThis.addEventListener('beforeunload', ask);
    return () => globalThis.removeEventListener('beforeunload', ask);
  }, [isDirty]);
}

/** A rule of a field that may not be empty. */
export const filled = (value: string | readonly unknown[]): string | null =>
  (typeof value === 'string' ? value.trim() : value).length === 0 ? 'Fill this in.' : null;
