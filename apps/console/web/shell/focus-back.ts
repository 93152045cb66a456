import { useLayoutEffect, useState } from 'react';

/** Layers above the page: what has the focus there is gone once they are closed. */
const LAYERS = '[role="dialog"], [role="menu"], [role="listbox"]';

let lastOnPage: HTMLElement | undefined;

/** Remembers which control of the page had the focus last: a menu, or another dialog, may be between it and a dialog. */
export function watchFocus(): void {
  document.addEventListener('focusin', ({ target }) => {
    if (target instanceof HTMLElement && target.closest(LAYERS) === null) lastOnPage = target;
  });
}

/** For every dialog and drawer: what opened it gets the focus back. Mantine does that for those that close; ours are taken away. */
export function useFocusBack(): void {
  const [opener] = useState(() => lastOnPage);
  useLayoutEffect(
    () => () => {
      if (opener?.isConnected === true) opener.focus({ preventScroll: true });
    },
    [opener],
  );
}
