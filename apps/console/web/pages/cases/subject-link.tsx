import type { ReactNode } from 'react';
import { Anchor } from '@mantine/core';
import { Link } from 'react-router';
import { useEnvironment } from './environment.tsx';

/** A subject, as a link to its page for those who may read it. */
export function Subject({ subjectRef }: { readonly subjectRef: string }): ReactNode {
  const { may, to } = useEnvironment();
  if (!may('cases:read')) return <span className="wrap">{subjectRef}</span>;
  return (
    <Anchor component={Link} to={to(`subjects/${subjectRef}`)} size="sm" className="wrap">
      {subjectRef}
    </Anchor>
  );
}
