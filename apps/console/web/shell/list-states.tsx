import { useEffect, useState, type ReactNode } from 'react';
import { Center, Skeleton, Stack, Text, ThemeIcon, VisuallyHidden } from '@mantine/core';
import { CodeText } from './code-text.tsx';
import { Icon, type IconName } from './icons.tsx';
import { ProblemView } from './problem-view.tsx';
import { asProblem } from './problem.ts';
import * as texts from './texts.ts';

/** A healthy service responds much sooner. */
const SLOW_AFTER_MS = 5_000;

/** Placeholder rows of a loading list; after some seconds they say that the service is slow. */
export function ListLoading({ rows = 6 }: { rows?: number }): ReactNode {
  const [isSlow, setSlow] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setSlow(true), SLOW_AFTER_MS);
    return () => clearTimeout(timer);
  }, []);
  return (
    <Stack gap="sm" py="sm" role="status">
      {isSlow ? (
        <Text size="sm" c="dimmed">
          {texts.stillLoading}
        </Text>
      ) : (
        <VisuallyHidden>{texts.loading}</VisuallyHidden>
      )}
      {Array.from({ length: rows }, (_, row) => (
        <Skeleton key={row} height={18} width={`${96 - ((row * 13) % 34)}%`} />
      ))}
    </Stack>
  );
}

interface EmptyProps {
  readonly title: string;
  readonly icon?: IconName;
  /** How to add rows, or which filter to remove. */
  readonly children?: ReactNode;
  readonly action?: ReactNode;
}

/** An empty list: what would be shown here, and how it comes about. */
export const ListEmpty = ({ title, icon = 'empty', children, action }: EmptyProps): ReactNode => (
  <Center py={48} px="md">
    <Stack align="center" gap="xs" maw={460}>
      <ThemeIcon size={48} radius="xl" variant="light" color="gray">
        <Icon name={icon} size={24} />
      </ThemeIcon>
      <Text fw={600} ta="center">
        {title}
      </Text>
      {children !== undefined && (
        <Text size="sm" c="dimmed" ta="center" component="div">
          {children}
        </Text>
      )}
      {action}
    </Stack>
  </Center>
);

/** An error instead of a list: refused for this person (401, 403), or failed. */
export function ListError({ error, onRetry }: { error: unknown; onRetry?: () => void }): ReactNode {
  // A surface answers 401 to a person of whom it knows nothing; the end of the session is shown above the page.
  if (![401, 403].includes(asProblem(error).status)) return <ProblemView error={error} onRetry={onRetry} />;
  return (
    <ListEmpty title={texts.notForYourRole} icon="person">
      {texts.notForYourRoleHint(<CodeText value={asProblem(error).problem.code} label={texts.copyTheCode} />)}
    </ListEmpty>
  );
}

interface UnreadProps {
  readonly read: {
    readonly isPending: boolean;
    readonly isError: boolean;
    readonly error: unknown;
    readonly refetch: () => Promise<unknown>;
  };
  readonly rows?: number;
}

/** Shown instead of data while it loads or after it failed, and above stale data after a failed refetch. */
export const Unread = ({ read, rows }: UnreadProps): ReactNode => (
  <>
    {read.isError && <ListError error={read.error} onRetry={() => void read.refetch()} />}
    {read.isPending && <ListLoading {...(rows !== undefined && { rows })} />}
  </>
);
