import type { ReactNode } from 'react';
import { NavLink } from 'react-router';
import classes from './part-tabs.module.css';

/** The pages of a part as a row of links; more rows where there is no room for one. */
export const PartTabs = ({
  label,
  tabs,
}: {
  readonly label: string;
  readonly tabs: readonly { readonly to: string; readonly title: string; readonly end?: boolean }[];
}): ReactNode => (
  <nav aria-label={label} className={classes['tabs']}>
    {tabs.map(({ to, title, end = false }) => (
      <NavLink key={to} to={to} end={end} className={classes['tab'] ?? ''}>
        {title}
      </NavLink>
    ))}
  </nav>
);
