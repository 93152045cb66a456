import { useEffect } from 'react';
import { useSearchParams } from 'react-router';

/** Whether an address shows the door without the menu of the console. */
export const isKiosk = (pathname: string, search: string): boolean =>
  pathname === '/door' && new URLSearchParams(search).get('kiosk') === '1';

interface Kiosk {
  readonly isOn: boolean;
  readonly set: (isOn: boolean) => void;
}

/** The door without menu, in full screen where the browser can. In the address, so that a reload keeps it. */
export function useKiosk(): Kiosk {
  const [search, setSearch] = useSearchParams();
  const isOn = search.get('kiosk') === '1';
  const turn = (on: boolean): void => setSearch(on ? { kiosk: '1' } : {}, { replace: true });
  useEffect(() => {
    // Escape ends the full screen without a word to the page.
    const left = (): void => {
      if (document.fullscreenElement === null) turn(false);
    };
    document.addEventListener('fullscreenchange', left);
    return () => document.removeEventListener('fullscreenchange', left);
  });
  return {
    isOn,
    set(on) {
      turn(on);
      // Phones of Apple have none, and a browser may refuse: then the menu is gone all the same.
      if (on) document.documentElement.requestFullscreen?.().catch(() => undefined);
      else if (document.fullscreenElement !== null) document.exitFullscreen().catch(() => undefined);
    },
  };
}

/** Keeps the screen on while the page is shown, where the browser can. */
export function useAwake(): void {
  useEffect(() => {
    let lock: WakeLockSentinel | undefined;
    let isOver = false;
    const hold = async (): Promise<void> => {
      if (document.visibilityState !== 'visible') return;
      const taken = await navigator.wakeLock?.request('screen').catch(() => undefined);
      if (isOver) void taken?.release();
      else lock = taken;
    };
    void hold();
    // A page that was hidden has lost it.
    const shown = (): void => void hold();
    document.addEventListener('visibilitychange', shown);
    return () => {
      isOver = true;
      document.removeEventListener('visibilitychange', shown);
      void lock?.release();
    };
  }, []);
}
