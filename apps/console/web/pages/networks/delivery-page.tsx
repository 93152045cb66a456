import type { ReactNode } from 'react';
import { Anchor, Button, Code, Group, Paper, SimpleGrid, Stack, Text, Title } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, useParams } from 'react-router';
import { CodeText } from '../../shell/code-text.tsx';
import { dataOf } from '../../shell/console-fetch.ts';
import { PlainTable } from '../../shell/cursor-table.tsx';
import { formatNumber } from '../../shell/formats.ts';
import { Unread } from '../../shell/list-states.tsx';
import { Fact, Page, Section } from '../../shell/page.tsx';
import { ProblemView } from '../../shell/problem-view.tsx';
import { useMayAdmin } from '../../shell/mine.ts';
import { ingestAdmin } from '../../shell/surfaces.ts';
import { Time } from '../../shell/time.tsx';
import { Quiet, RecordLinks, useSource } from './deliveries-page.tsx';
import { useNetworkName } from './network-names.ts';
import { isMended, RefusedState } from './refused-table.tsx';
import { titleOf, wordsOf, type Refused } from './refusal-words.ts';
import { useSourceDialogs } from './source-dialogs.tsx';
import type { Source } from './source-presets.ts';

/** One refused delivery: why, how to mend it, what is kept of it, and what came of it. */
export function DeliveryPage(): ReactNode {
  const { networkId = '', sourceId = '', refusedId = '' } = useParams();
  const nameOf = useNetworkName();
  const source = useSource(networkId, sourceId);
  const refused = useQuery({
    queryKey: ['refused', refusedId],
    queryFn: ({ signal }) =>
      dataOf(
        ingestAdmin.GET('/admin/v1/networks/{networkId}/sources/{sourceId}/refused/{refusedId}', {
          params: { path: { networkId, sourceId, refusedId } },
          signal,
        }),
      ),
  });
  const above = [
    { title: 'Networks and keys', to: '/networks' },
    { title: nameOf(networkId), to: `/networks/${networkId}` },
    {
      title: source.data === undefined ? 'Deliveries' : source.data.name,
      to: `/networks/${networkId}/sources/${sourceId}/deliveries`,
    },
  ];
  const title = refused.data === undefined ? 'Delivery' : titleOf(refused.data.reason, refused.data.code);
  return (
    <Page title={title} above={above}>
      <Unread read={refused} />
      {source.isError && <Unread read={source} />}
      {refused.data !== undefined && source.data !== undefined && <Shown refused={refused.data} source={source.data} />}
    </Page>
  );
}

interface ShownProps {
  readonly refused: Refused;
  readonly source: Source;
}

function Shown({ refused, source }: ShownProps): ReactNode {
  const isOperator = useMayAdmin('ingest-gateway', 'admin:change');
  return (
    <>
      {isMended(refused) ? (
        <Mended refused={refused} />
      ) : (
        <Why refused={refused} source={source} mayChange={isOperator} />
      )}
      <Paper>
        <SimpleGrid cols={{ base: 1, xs: 2, md: 4 }}>
          <Fact label="State">
            <RefusedState {...refused} />
          </Fact>
          <Fact label="When">
            <Time value={refused.at} />
          </Fact>
          <Fact label="Signature">{refused.authentic ? 'verified' : 'not verified'}</Fact>
          <Fact label="Answer">{refused.code}</Fact>
          <Fact label="Provider’s id">
            {refused.deliveryId === null ? (
              'not known'
            ) : (
              <CodeText value={refused.deliveryId} label="the delivery id" />
            )}
          </Fact>
          <Fact label="Request">
            <CodeText value={refused.requestId} label="the request id" short={20} />
          </Fact>
          <Fact label="Media type">{refused.mediaType ?? 'none'}</Fact>
          <Fact label="Size">
            {refused.bodyBytes === null ? 'not known' : `${formatNumber(refused.bodyBytes)} bytes`}
          </Fact>
        </SimpleGrid>
      </Paper>
      {refused.eventId !== null && <Outcome eventId={refused.eventId} />}
      <Kept refused={refused} source={source} isOperator={isOperator} />
    </>
  );
}

/** The tolerance is said where it matters. */
const toleranceOf = ({ reason }: Refused, { toleranceSeconds }: Source): string =>
  reason === 'clock-skew' ? ` This source tolerates ${toleranceSeconds} s.` : '';

/** What processing it again came to. */
const ENDS: Readonly<Record<string, string>> = {
  written: 'its record was written',
  replayed: 'its record had been written before, from another delivery with this id',
  answered: 'it was answered, and asks for no record',
};

/** Why it had been refused, when and how it was mended; there is nothing left to do. */
const Mended = ({ refused }: Pick<ShownProps, 'refused'>): ReactNode => (
  <Paper component="section" aria-label="How it was mended">
    <Stack gap="xs">
      <Title order={2}>How it was mended</Title>
      <Text size="sm">
        {refused.processedAt !== null && (
          <>
            It was processed again <Time value={refused.processedAt} />, with the settings and secrets of its source at
            that time:{' '}
          </>
        )}
        {ENDS[refused.outcome ?? '']}. There is nothing left to do.
      </Text>
      <Text size="sm" c="dimmed">
        What it had been refused for: {wordsOf(refused.reason)?.what(refused) ?? refused.detail}
      </Text>
    </Stack>
  </Paper>
);

function Why({ refused, source, mayChange }: ShownProps & { readonly mayChange: boolean }): ReactNode {
  const words = wordsOf(refused.reason);
  const { open, dialog } = useSourceDialogs();
  return (
    <Paper component="section" aria-label="Why it was refused, and what to do">
      <Stack gap="xs">
        <Title order={2}>Why it was refused, and what to do</Title>
        <Text size="sm">
          {words?.what(refused) ?? refused.detail}
          {toleranceOf(refused, source)}
        </Text>
        {refused.processedAt !== null && (
          <Text size="sm">
            It was processed again <Time value={refused.processedAt} />, and refused again:{' '}
            {titleOf(null, refused.outcome)}.
          </Text>
        )}
        {words !== undefined && <Text size="sm">{words.todo}</Text>}
        {mayChange && (
          <Group gap="xs">
            <Button size="xs" variant="default" onClick={() => open('edit', source)}>
              Edit the source
            </Button>
            <Button size="xs" variant="default" onClick={() => open('secrets', source)}>
              Secrets
            </Button>
            {words?.mended === 'network' && (
              <Button size="xs" variant="default" component={Link} to={`/networks/${source.networkId}`}>
                Limits of the network
              </Button>
            )}
            <ProcessAgain refused={refused} source={source} />
          </Group>
        )}
      </Stack>
      {dialog}
    </Paper>
  );
}

/** Every check is made anew with the settings as they are now. */
function ProcessAgain({ refused: { refusedId, keptUntil }, source }: ShownProps): ReactNode {
  const { networkId, sourceId } = source;
  const queries = useQueryClient();
  const processing = useMutation({
    mutationFn: () =>
      dataOf(
        ingestAdmin.POST('/admin/v1/networks/{networkId}/sources/{sourceId}/refused/{refusedId}/process', {
          params: { path: { networkId, sourceId, refusedId } },
          body: {},
        }),
      ),
    onSuccess(answer) {
      void queries.invalidateQueries({ queryKey: ['refused'] });
      void queries.invalidateQueries({ queryKey: ['activity', sourceId] });
      const isDone = answer.code === null;
      notifications.show({
        color: isDone ? 'green' : 'red',
        title: isDone ? `The delivery was ${answer.outcome ?? 'answered'}` : 'It is refused again',
        message: isDone ? 'Its record is linked below.' : `With the settings as they are now: ${answer.code}.`,
      });
    },
  });
  if (keptUntil === null) return null;
  return (
    <>
      <Button size="xs" loading={processing.isPending} onClick={() => processing.mutate()}>
        Process again
      </Button>
      {processing.isError && <ProblemView error={processing.error} />}
    </>
  );
}

/** The event of a conflict, or of processing it again, with its records. */
function Outcome({ eventId }: { readonly eventId: string }): ReactNode {
  const event = useQuery({
    queryKey: ['events', eventId],
    queryFn: ({ signal }) =>
      dataOf(ingestAdmin.GET('/admin/v1/events/{eventId}', { params: { path: { eventId } }, signal })),
  });
  return (
    <Section title="What came of it">
      <Unread read={event} rows={1} />
      {event.data !== undefined && (
        <Paper>
          <Group gap="md">
            <Anchor component={Link} to={`/events/${encodeURIComponent(eventId)}`} size="sm">
              Its event ({event.data.status})
            </Anchor>
            {event.data.records.length === 0 ? (
              <Quiet>Nothing was written.</Quiet>
            ) : (
              <Fact label="Its record">
                <RecordLinks records={event.data.records} />
              </Fact>
            )}
          </Group>
        </Paper>
      )}
    </Section>
  );
}

/** What is kept is read on request only, because each look is audited. */
function Kept({ refused, source, isOperator }: ShownProps & { readonly isOperator: boolean }): ReactNode {
  const { networkId, sourceId } = source;
  const { refusedId, keptUntil } = refused;
  const look = useMutation({
    mutationFn: () =>
      dataOf(
        ingestAdmin.GET('/admin/v1/networks/{networkId}/sources/{sourceId}/refused/{refusedId}/kept', {
          params: { path: { networkId, sourceId, refusedId } },
        }),
      ),
  });
  return (
    <Section title="Headers and body">
      {keptUntil === null ? (
        <Quiet>
          {source.keepRefusedHours === 0
            ? 'Nothing is kept of it: this source keeps no refused deliveries. Set “Keep refused (hours)” to keep those that come.'
            : 'Nothing is kept of it any more.'}
        </Quiet>
      ) : (
        <Group gap="sm">
          <Quiet>
            Kept until <Time value={keptUntil} />, encrypted. It is shown without sensitive members and credentials.
          </Quiet>
          {isOperator && look.data === undefined && (
            <Button size="xs" variant="default" loading={look.isPending} onClick={() => look.mutate()}>
              Show headers and body
            </Button>
          )}
        </Group>
      )}
      {look.isError && <ProblemView error={look.error} />}
      {look.data !== undefined && (
        <>
          <PlainTable
            label="Headers"
            isDense
            rows={look.data.headers}
            rowKey={({ name }) => name}
            columns={[
              { title: 'Header', width: '16rem', cell: ({ name }) => <code>{name}</code> },
              {
                title: 'Value',
                cell: ({ value }) => (value === null ? <Quiet>not shown</Quiet> : <code>{value}</code>),
              },
            ]}
            empty={<Quiet>No header.</Quiet>}
          />
          {look.data.body === null ? (
            <Quiet>The body is not shown. {look.data.whyHidden}</Quiet>
          ) : (
            <Code block style={{ whiteSpace: 'pre-wrap', overflowWrap: 'anywhere' }} aria-label="Body">
              {indented(look.data.body)}
            </Code>
          )}
          {look.data.strippedFields > 0 && (
            <Quiet>Sensitive members that were removed: {look.data.strippedFields}</Quiet>
          )}
        </>
      )}
    </Section>
  );
}

/** Numbers that JavaScript would change are kept as text by the service. */
const indented = (json: string): string => JSON.stringify(JSON.parse(json), null, 2);
