import type { ReactNode } from 'react';
import { NavLink } from 'react-router';
import classes from './part-tabs.module.css';

/** The pages of a part as a row of links, which scrolls sideways where it does not fit. */
export const PartTabs = ({
  label,
  tabs,
}: {
  readonly label: string;
  readonly tabs: readonly { readonly to: string; readonly title: string }[];
}): ReactNode => (
  <nav aria-label={label} className={classes['tabs']}>
    {tabs.map(({ to, title }) => (
      <NavLink key={to} to={to} className={classes['tab'] ?? ''}>
        {title}
      </NavLink>
    ))}
  </nav>
);
