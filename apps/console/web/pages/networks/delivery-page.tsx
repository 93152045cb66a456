import type { ReactNode } from 'react';
import { Anchor, Button, Code, Group, Paper, SimpleGrid, Stack, Text, Title } from '@mantine/core';
import { Link, useParams } from 'react-router';
import { api } from '../../shell/api.ts';
import { CodeText } from '../../shell/code-text.tsx';
import { PlainTable } from '../../shell/cursor-table.tsx';
import { formatBytes } from '../../shell/formats.ts';
import { Unread } from '../../shell/list-states.tsx';
import { Fact, Page, Section } from '../../shell/page.tsx';
import { ProblemView } from '../../shell/problem-view.tsx';
import { useMayAdmin } from '../../shell/mine.ts';
import { Time } from '../../shell/time.tsx';
import { Quiet, RecordLinks, useSource } from './deliveries-page.tsx';
import * as texts from './delivery-texts.ts';
import { MendRefused } from './mend-refused.tsx';
import { useNetworkName } from './network-names.ts';
import { isMended, RefusedState } from './refused-table.tsx';
import { RaisedTolerance } from './raised-tolerance.tsx';
import { signatureInWords, titleOf, wordsOf, type Refused } from './refusal-words.ts';
import type { Source } from './source-presets.ts';

/** One refused delivery: why, how to mend it, what is kept of it, and what came of it. */
export function DeliveryPage(): ReactNode {
  const { networkId = '', sourceId = '', refusedId = '' } = useParams();
  const nameOf = useNetworkName();
  const source = useSource(networkId, sourceId);
  const refused = api.useQuery(
    'get',
    '/admin/ingest-gateway/admin/v1/networks/{networkId}/sources/{sourceId}/refused/{refusedId}',
    { params: { path: { networkId, sourceId, refusedId } } },
  );
  const above = [
    { title: texts.networksAndKeys, to: '/networks' },
    { title: nameOf(networkId), to: `/networks/${networkId}` },
    {
      title: source.data === undefined ? texts.deliveries : source.data.name,
      to: `/networks/${networkId}/sources/${sourceId}/deliveries`,
    },
  ];
  const title = refused.data === undefined ? texts.delivery : titleOf(refused.data.reason, refused.data.code);
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
        <MendRefused refused={refused} source={source} mayChange={isOperator} />
      )}
      <RaisedTolerance source={source} mayChange={isOperator} />
      <Paper>
        <SimpleGrid cols={{ base: 1, xs: 2, md: 4 }}>
          <Fact label={texts.state}>
            <RefusedState {...refused} />
          </Fact>
          <Fact label={texts.when}>
            <Time value={refused.at} />
          </Fact>
          <Fact label={texts.signature}>{signatureInWords(refused)}</Fact>
          <Fact label={texts.answer}>{refused.code}</Fact>
          <Fact label={texts.providersId}>
            {refused.deliveryId === null ? (
              texts.notKnown
            ) : (
              <CodeText value={refused.deliveryId} label={texts.copyTheDeliveryId} />
            )}
          </Fact>
          <Fact label={texts.request}>
            <CodeText value={refused.requestId} label={texts.copyTheRequestId} short={20} />
          </Fact>
          <Fact label={texts.mediaType}>{refused.mediaType ?? texts.none}</Fact>
          <Fact label={texts.size}>{refused.bodyBytes === null ? texts.notKnown : formatBytes(refused.bodyBytes)}</Fact>
        </SimpleGrid>
      </Paper>
      {refused.eventId !== null && <Outcome eventId={refused.eventId} />}
      <Kept refused={refused} source={source} isOperator={isOperator} />
    </>
  );
}

/** What processing it again came to. */
const ENDS: Readonly<Record<string, string>> = {
  written: texts.itsRecordWasWritten,
  replayed: texts.itsRecordWasWrittenBefore,
  answered: texts.itWasAnswered,
};

/** Why it had been refused, when and how it was mended; there is nothing left to do. */
const Mended = ({ refused }: Pick<ShownProps, 'refused'>): ReactNode => (
  <Paper component="section" aria-label={texts.howItWasMended}>
    <Stack gap="xs">
      <Title order={2}>{texts.howItWasMended}</Title>
      <Text size="sm">
        {refused.processedAt === null
          ? texts.endedWithNothingLeftToDo(ENDS[refused.outcome ?? ''] ?? '')
          : texts.processedAgainWithNothingLeftToDo(
              <Time value={refused.processedAt} />,
              ENDS[refused.outcome ?? ''] ?? '',
            )}
      </Text>
      <Text size="sm" c="dimmed">
        {texts.whatItHadBeenRefusedFor(wordsOf(refused.reason)?.what(refused) ?? refused.detail)}
      </Text>
    </Stack>
  </Paper>
);

/** The event of a conflict, or of processing it again, with its records. */
function Outcome({ eventId }: { readonly eventId: string }): ReactNode {
  const event = api.useQuery('get', '/admin/ingest-gateway/admin/v1/events/{eventId}', {
    params: { path: { eventId } },
  });
  return (
    <Section title={texts.whatCameOfIt}>
      <Unread read={event} rows={1} />
      {event.data !== undefined && (
        <Paper>
          <Group gap="md">
            <Anchor component={Link} to={`/events/${encodeURIComponent(eventId)}`} size="sm">
              {texts.itsEvent(event.data.status)}
            </Anchor>
            {event.data.records.length === 0 ? (
              <Quiet>{texts.nothingWasWritten}</Quiet>
            ) : (
              <Fact label={texts.itsRecord}>
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
  const look = api.useMutation(
    'get',
    '/admin/ingest-gateway/admin/v1/networks/{networkId}/sources/{sourceId}/refused/{refusedId}/kept',
  );
  return (
    <Section title={texts.headersAndBody}>
      {keptUntil === null ? (
        <Quiet>{source.keepRefusedHours === 0 ? texts.nothingIsKeptBySource : texts.nothingIsKeptAnyMore}</Quiet>
      ) : (
        <Group gap="sm">
          <Quiet>{texts.keptUntilEncrypted(<Time value={keptUntil} />)}</Quiet>
          {isOperator && look.data === undefined && (
            <Button
              size="xs"
              variant="default"
              loading={look.isPending}
              onClick={() => look.mutate({ params: { path: { networkId, sourceId, refusedId } } })}
            >
              {texts.showHeadersAndBody}
            </Button>
          )}
        </Group>
      )}
      {look.isError && <ProblemView error={look.error} />}
      {look.data !== undefined && (
        <>
          <PlainTable
            label={texts.headers}
            isDense
            rows={look.data.headers}
            rowKey={({ name }) => name}
            columns={[
              { title: texts.header, width: '16rem', cell: ({ name }) => <code>{name}</code> },
              {
                title: texts.value,
                cell: ({ value }) => (value === null ? <Quiet>{texts.notShown}</Quiet> : <code>{value}</code>),
              },
            ]}
            empty={<Quiet>{texts.noHeader}</Quiet>}
          />
          {look.data.body === null ? (
            <Quiet>{texts.theBodyIsNotShown(look.data.whyHidden)}</Quiet>
          ) : (
            <Code block style={{ whiteSpace: 'pre-wrap', overflowWrap: 'anywhere' }} aria-label={texts.body}>
              {indented(look.data.body)}
            </Code>
          )}
          {look.data.strippedFields > 0 && (
            <Quiet>{texts.sensitiveMembersThatWereRemoved(look.data.strippedFields)}</Quiet>
          )}
        </>
      )}
    </Section>
  );
}

/** Numbers that JavaScript would change are kept as text by the service. */
const indented = (json: string): string => JSON.stringify(JSON.parse(json), null, 2);
