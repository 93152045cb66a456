import { useState, type ReactNode } from 'react';
import { Button, Paper, Text, Timeline } from '@mantine/core';
import { api } from '../../shell/api.ts';
import { CodeText } from '../../shell/code-text.tsx';
import { ListError, ListLoading } from '../../shell/list-states.tsx';
import { Section } from '../../shell/page.tsx';
import { Time } from '../../shell/time.tsx';
import { Actor } from '../actor.tsx';
import { withNames } from '../actor-in-words.ts';
import type { TimelineEntry } from './case-api.ts';
import * as texts from './case-texts.ts';
import { useEnvironment } from './environment.tsx';

/** The events of a case, oldest first; each has the hash of the previous one. */
export function CaseTimeline({ caseId }: { readonly caseId: string }): ReactNode {
  const { name: environment } = useEnvironment();
  const found = api.useInfiniteQuery(
    'get',
    '/admin/case-gate/admin/v1/cases/{case_id}/timeline',
    { params: { path: { case_id: caseId }, query: { environment, limit: 50 } } },
    { initialPageParam: null, getNextPageParam: ({ nextCursor }) => nextCursor },
  );
  const entries = found.data?.pages.flatMap((page) => withNames(page).items) ?? [];
  return (
    <Section title={texts.timeline}>
      <Paper>
        {found.isPending && <ListLoading rows={4} />}
        {found.isError && <ListError error={found.error} onRetry={() => void found.refetch()} />}
        <Timeline active={entries.length} bulletSize={14} lineWidth={2}>
          {entries.map((entry) => (
            <Timeline.Item
              key={entry.seq}
              title={
                <Text fw={600} size="sm">
                  {eventInWords(entry.event)}
                </Text>
              }
            >
              <Text size="sm" c="dimmed" component="div" className="wrap">
                {texts.entryBy(<Time value={entry.at} />, <Actor actor={entry.actor} names={entry.names} />)}
              </Text>
              <Details entry={entry} />
            </Timeline.Item>
          ))}
        </Timeline>
        {found.hasNextPage && (
          <Button
            variant="default"
            size="xs"
            loading={found.isFetchingNextPage}
            onClick={() => void found.fetchNextPage()}
          >
            {texts.more}
          </Button>
        )}
      </Paper>
    </Section>
  );
}

export function eventInWords(event: string): string {
  const words = event.replaceAll(/[._]/g, ' ');
  return words.charAt(0).toUpperCase() + words.slice(1);
}

function Details({ entry }: { readonly entry: TimelineEntry }): ReactNode {
  const [isOpen, setOpen] = useState(false);
  return (
    <details style={{ marginTop: 6 }} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        <Text size="xs" component="span">
          {texts.dataAndHash}
        </Text>
      </summary>
      {isOpen && (
        <>
          <Text size="xs" component="pre" className="wrap" style={{ whiteSpace: 'pre-wrap', margin: 0 }}>
            {JSON.stringify(entry.data, null, 2)}
          </Text>
          <CodeText value={entry.hash} label={texts.copyTheHashOfTheEntry} short={24} />
        </>
      )}
    </details>
  );
}
