import { useEffect } from 'react';
import * as texts from './texts.ts';

export const LOSES_INPUT = texts.losesInput;

/** Whether a click would open another page of the console in this window. */
function leaves(event: MouseEvent): boolean {
  const link = event.target instanceof Element ? event.target.closest('a') : null;
  const isElsewhere = event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey;
  if (link === null || link.href === '' || isElsewhere || link.target === '_blank' || link.hasAttribute('download'))
    return false;
  const { origin, pathname, search } = globalThis.location;
  return link.origin === origin && (link.pathname !== pathname || link.search !== search);
}

/** The position in the history that the router keeps in the state of each entry. */
const positionOf = (state: unknown): number | undefined => (state as { idx?: number } | null)?.idx;

let onReturn: ((event: PopStateEvent) => void) | undefined;

/** Before the router is made: listeners of a window are called in the order in which they came. */
export function watchHistory(): void {
  globalThis.addEventListener('popstate', (event) => onReturn?.(event));
}

/**
 * Asks before the page is left with input that was not sent, or with what is lost then: by a link, by Back and Forward, and, in the browser's own
 * words, by a reload or for another site. The router can block navigation only with routes that are data, which are
 * larger than the first script may be. What a page does itself is not asked about: it follows from a button.
 */
export function useAskBeforeLeaving(isDirty: boolean, question: string = LOSES_INPUT): void {
  useEffect(() => {
    if (!isDirty) return undefined;
    const here = positionOf(globalThis.history.state);
    let isReturning = false;
    const onClick = (event: MouseEvent): void => {
      if (!leaves(event) || globalThis.confirm(question)) return;
      event.preventDefault();
      event.stopPropagation();
    };
    // The entry is another one already: unless that is wanted, the router does not hear of it, and it is left again.
    const onPop = (event: PopStateEvent): void => {
      const there = positionOf(event.state);
      const isAway = here !== undefined && there !== undefined && there !== here;
      if (!isReturning && (!isAway || globalThis.confirm(question))) return;
      event.stopImmediatePropagation();
      if (!isReturning) globalThis.history.go(here! - there!);
      isReturning = !isReturning;
    };
    const onUnload = (event: BeforeUnloadEvent): void => event.preventDefault();
    document.addEventListener('click', onClick, true);
    onReturn = onPop;
    globalThis.addEventListener('beforeunload', onUnload);
    return () => {
      document.removeEventListener('click', onClick, true);
      onReturn = undefined;
      globalThis.removeEventListener('beforeunload', onUnload);
    };
  }, [isDirty, question]);
}
