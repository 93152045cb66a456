import { useEffect, useRef, type FormEvent } from 'react';
import type { UseFormReturnType } from '@mantine/form';
import { useAskBeforeLeaving } from '../shell/ask-before-leaving.ts';
import { ProblemError } from '../shell/problem.ts';
import * as texts from './texts.ts';

/**
 * The faults that a service names, by field: a JSON pointer (RFC 6901) into the body is the path of a field, and a fault
 * inside of a list or member is at the field of the whole as well. Of a form whose fields are a part of the body, that part
 * is named by its pointer.
 */
export function faultsOf(error: unknown, part = ''): Readonly<Record<string, string>> {
  if (!(error instanceof ProblemError)) return {};
  const faults: Record<string, string> = {};
  for (const { pointer = '', detail } of error.problem.errors ?? []) {
    if (!pointer.startsWith(`${part}/`)) continue;
    const steps = pointer.slice(part.length).split('/').slice(1).map(unescaped);
    steps.forEach((_step, index) => {
      faults[steps.slice(0, index + 1).join('.')] ??= sentence(detail);
    });
  }
  return faults;
}

/** A service states what a member must be, such as `must not be empty`; a field says it as a sentence. */
const sentence = (detail: string): string =>
  `${detail.slice(0, 1).toUpperCase()}${detail.slice(1)}${/[.!?]$/.test(detail) ? '' : '.'}`;

const unescaped = (step: string): string => step.replaceAll('~1', '/').replaceAll('~0', '~');

/**
 * For every form: shows the faults that the service names at their fields, and asks before the page is left with input
 * that was not sent. Returns what makes the submit handler: after faults, of the rules or of the service, the first field
 * that has one gets the focus. `part` is that of `faultsOf`.
 */
export function useFormFaults<Values>(
  form: UseFormReturnType<Values>,
  error: unknown,
  part?: string,
): Submitting<Values> {
  const { setErrors } = form;
  const submitted = useRef<HTMLFormElement>(null);
  useEffect(() => {
    if (error === null) return;
    setErrors(faultsOf(error, part));
    focusFault(submitted.current);
  }, [error, part, setErrors]);
  useAskBeforeLeaving(form.isDirty());
  return (send) => (event) => {
    submitted.current = event.currentTarget;
    form.onSubmit(send, () => focusFault(submitted.current))(event);
  };
}

type Submitting<Values> = (send: (values: Values) => void) => (event: FormEvent<HTMLFormElement>) => void;

/** Password inputs have `data-invalid` alone. */
const FAULTY = ':is(input, textarea, select, button, [tabindex]):is([aria-invalid="true"], [data-invalid])';

/** Once the faults are drawn. */
export function focusFault(form: HTMLFormElement | null): void {
  requestAnimationFrame(() => form?.querySelector<HTMLElement>(FAULTY)?.focus());
}

/** A rule of a field that may not be empty. */
export const filled = (value: string | readonly unknown[]): string | null =>
  (typeof value === 'string' ? value.trim() : value).length === 0 ? texts.fillThisIn : null;
