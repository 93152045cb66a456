import { useEffect, useRef, type ReactNode } from 'react';
import { NavLink, useLocation } from 'react-router';
import classes from './part-tabs.module.css';

/** The pages of a part as a row of links, which scrolls horizontally to the current one if needed; several rows on a small screen. */
export function PartTabs({
  label,
  tabs,
}: {
  readonly label: string;
  readonly tabs: readonly { readonly to: string; readonly title: string; readonly end?: boolean }[];
}): ReactNode {
  const row = useRef<HTMLElement>(null);
  const { pathname } = useLocation();
  useEffect(() => {
    const shown = row.current?.querySelector('[aria-current="page"]')?.getBoundingClientRect();
    const frame = row.current?.getBoundingClientRect();
    if (row.current === null || shown === undefined || frame === undefined) return;
    row.current.scrollLeft += shown.left - frame.left - (frame.width - shown.width) / 2;
  }, [pathname]);
  return (
    <nav aria-label={label} className={classes['tabs']} ref={row}>
      {tabs.map(({ to, title, end = false }) => (
        <NavLink key={to} to={to} end={end} className={classes['tab'] ?? ''}>
          {title}
        </NavLink>
      ))}
    </nav>
  );
}
