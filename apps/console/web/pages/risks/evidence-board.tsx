import { useState, type ReactNode } from 'react';
import { Button, Group, Paper, Stack, Text, Title } from '@mantine/core';
import { useInfiniteQuery } from '@tanstack/react-query';
import { Link } from 'react-router';
import { api } from '../../shell/api.ts';
import type { PageAt } from '../../shell/cursor-table.tsx';
import { ListError, ListLoading, Unread } from '../../shell/list-states.tsx';
import { Page } from '../../shell/page.tsx';
import { Time } from '../../shell/time.tsx';
import { actorOf, BOARD, type Evidence, type EvidenceState } from './evidence-rules.ts';
import { useCountedIntro, useOrganization, usePersonName } from './organization.tsx';
import { Status } from './record-values.tsx';
import { recordPages } from './risk-api.ts';
import * as texts from './texts.ts';
import classes from './risks.module.css';
import { inWords } from './words.ts';

/** Initial number of cards per column. */
const CARDS = '10';
/** How many more its button loads. */
const MORE = '20';

/** Evidence by state, and who has to act; states without an action are collapsed. */
export function EvidenceBoard(): ReactNode {
  const { inOrg, may, to } = useOrganization();
  const intro = useCountedIntro(texts.boardIntro);
  const [isWhole, setWhole] = useState(false);
  const board = api.useQuery('get', '/api/risk-partner/api/evidence-board', {
    ...inOrg,
    params: { query: { cards: CARDS } },
  });
  const columnOf = (state: EvidenceState) => board.data?.states.find((each) => each.state === state);
  const shown = BOARD.filter(({ isSettled }) => isWhole || isSettled !== true);
  return (
    <Page
      title={texts.evidence}
      intro={intro}
      actions={
        <>
          <Button component={Link} to={to('evidence/list')} variant="default">
            {texts.asAList}
          </Button>
          {may('evidence:create') && (
            <Button component={Link} to={to('evidence/new')}>
              {texts.newEvidence}
            </Button>
          )}
        </>
      }
    >
      <Unread read={board} />
      {board.data !== undefined && (
        <>
          <div className={classes['board']}>
            {shown.map((column) => (
              <BoardColumn
                key={column.state}
                state={column.state}
                says={column.says}
                count={columnOf(column.state)?.count ?? 0}
                first={columnOf(column.state)?.first}
              />
            ))}
          </div>
          <Button
            variant="default"
            onClick={() => setWhole(!isWhole)}
            style={{ alignSelf: 'flex-start' }}
            aria-expanded={isWhole}
          >
            {isWhole ? texts.onlyStatesWithAnAction : texts.allStates}
          </Button>
        </>
      )}
    </Page>
  );
}

function BoardColumn({
  state,
  says,
  count,
  first,
}: {
  readonly state: EvidenceState;
  readonly says: string;
  readonly count: number;
  /** Undefined of a state in which nobody has to act. */
  readonly first: readonly Evidence[] | undefined;
}): ReactNode {
  const { inOrg } = useOrganization();
  const [isAsked, setAsked] = useState(false);
  // In the order of the first.
  const sort = ['expiring', 'expired'].includes(state) ? 'validUntil' : 'createdAt';
  const pages = recordPages(inOrg, 'evidence', { state, sort, limit: MORE });
  const found = useInfiniteQuery({
    queryKey: [...pages({}).queryKey, 'all'],
    queryFn: ({ pageParam, signal }) => pages(pageParam).queryFn({ signal }),
    initialPageParam: {},
    getNextPageParam: ({ nextCursor }): PageAt | undefined => (nextCursor == null ? undefined : { cursor: nextCursor }),
    enabled: isAsked || (count > 0 && first === undefined),
  });
  const cards = found.data?.pages.flatMap(({ items }) => items) ?? first ?? [];
  const hasMore = found.data === undefined ? count > cards.length : found.hasNextPage;
  return (
    <Paper component="section" p="sm" bg="var(--console-canvas)" aria-label={`${inWords(state)}: ${count}`}>
      <Stack gap="xs">
        <Group justify="space-between" gap={6}>
          <Title order={2} size="h3">
            <Status value={state} />
          </Title>
          <Text size="sm" fw={600}>
            {count}
          </Text>
        </Group>
        <Text size="xs" c="dimmed">{`${says}.`}</Text>
        {found.isError && <ListError error={found.error} onRetry={() => void found.refetch()} />}
        {count > 0 && cards.length === 0 && found.isPending && <ListLoading rows={2} />}
        {count === 0 && <Text size="sm">{texts.nothingHere}</Text>}
        {cards.map((evidence) => (
          <EvidenceCard key={evidence.id} evidence={evidence} />
        ))}
        {hasMore && cards.length > 0 && (
          <Button
            size="xs"
            variant="default"
            loading={found.isFetching}
            onClick={() => (found.data === undefined ? setAsked(true) : void found.fetchNextPage())}
          >
            {texts.more}
          </Button>
        )}
      </Stack>
    </Paper>
  );
}

function EvidenceCard({ evidence }: { readonly evidence: Evidence }): ReactNode {
  const { me, to } = useOrganization();
  const nameOf = usePersonName();
  const actor = actorOf(evidence);
  return (
    <Link to={to(`evidence/${encodeURIComponent(evidence.id)}`)} className={classes['card'] ?? ''}>
      <Text size="sm" fw={600} className="wrap" lineClamp={3}>
        {evidence.title}
      </Text>
      <Text size="xs" c="dimmed" component="div">
        {evidence.validUntil === null
          ? inWords(evidence.kind)
          : texts.kindValidUntil(inWords(evidence.kind), <Time value={evidence.validUntil} form="day" />)}
      </Text>
      {actor !== undefined && (
        <Text size="xs" mt={4} fw={actor === me.personId ? 700 : 400} truncate>
          {actor === me.personId ? texts.youHaveToAct : texts.waitsFor(nameOf(actor))}
        </Text>
      )}
    </Link>
  );
}
