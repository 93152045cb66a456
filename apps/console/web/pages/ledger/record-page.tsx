import { useState, type ReactNode } from 'react';
import { Anchor, Button, Code, Group, Paper, SimpleGrid, Stack, Text, Title } from '@mantine/core';
import { Link, useParams } from 'react-router';
import type { Schemas } from '@sealgate/client';
import { api, server, useReload } from '../../shell/api.ts';
import { CodeText } from '../../shell/code-text.tsx';
import { formatNumber } from '../../shell/formats.ts';
import { Unread } from '../../shell/list-states.tsx';
import { Fact, Page } from '../../shell/page.tsx';
import { useMayAdmin } from '../../shell/mine.ts';
import { StateBadge } from '../../shell/state-badge.tsx';
import { Time } from '../../shell/time.tsx';
import { ConfirmDialog } from '../confirm-dialog.tsx';
import { ledgerOf, type LedgerSurface } from './ledger-source.ts';
import { ProofPanel } from './proof-panel.tsx';
import * as texts from './texts.ts';

type LedgerRecord = Schemas['ingestGatewayAdmin']['LedgerRecord'];

const REASON_MAX = 500;

/** One record: its content, and its proof, verified in the browser. */
export function RecordPage({ surface }: { surface: LedgerSurface }): ReactNode {
  const { channel = '', recordId = '' } = useParams();
  const record = api.useQuery('get', `${ledgerOf(surface)}/channels/{channel}/records/{recordId}`, {
    params: { path: { channel, recordId } },
  });
  const above = [
    { title: texts.ledgerExplorer, to: `/ledger?by=${surface}` },
    { title: channel, to: `/ledger/${encodeURIComponent(channel)}?by=${surface}` },
  ];
  if (record.data !== undefined) return <Shown surface={surface} record={record.data} above={above} />;
  return (
    <Page title={recordId} above={above}>
      <Unread read={record} />
    </Page>
  );
}

interface ShownProps {
  readonly surface: LedgerSurface;
  readonly record: LedgerRecord;
  readonly above: readonly { readonly title: string; readonly to: string }[];
}

function Shown({ surface, record, above }: ShownProps): ReactNode {
  const [erasing, setErasing] = useState(false);
  const mayErase = useMayAdmin(surface, 'admin:change') && record.erased !== true;
  const reload = useReload();
  const path = { channel: record.channel, recordId: record.id };
  return (
    <Page
      title={record.id}
      above={above}
      actions={
        mayErase && (
          <Button variant="default" onClick={() => setErasing(true)}>
            {texts.eraseItsContent}
          </Button>
        )
      }
    >
      <Facts surface={surface} record={record} />
      <ProofPanel surface={surface} record={record} />
      <Stack gap="sm" component="section" aria-label={texts.content}>
        <Title order={2}>{texts.content}</Title>
        {record.erased === true ? (
          <Paper>
            <StateBadge tone="wait">{texts.erased}</StateBadge>
            <Text size="sm" mt="xs">
              {texts.erasedHint}
            </Text>
          </Paper>
        ) : (
          <>
            <Json value={record.data} label={texts.data} />
            {record.extra != null && <Json value={record.extra} label={texts.extra} />}
          </>
        )}
      </Stack>
      {erasing && (
        <ConfirmDialog
          title={texts.eraseTheContentOfARecord}
          action={texts.erasePermanently}
          tone="danger"
          typed={record.id}
          reasonMax={REASON_MAX}
          run={(reason) =>
            server.POST(`${ledgerOf(surface)}/channels/{channel}/records/{recordId}/erase`, {
              params: { path },
              body: { reason },
            })
          }
          onDone={() => {
            setErasing(false);
            void reload(ledgerOf(surface));
          }}
          onClose={() => setErasing(false)}
        >
          <Text size="sm">{texts.eraseHint}</Text>
        </ConfirmDialog>
      )}
    </Page>
  );
}

const Facts = ({ surface, record }: Omit<ShownProps, 'above'>): ReactNode => (
  <Paper>
    <SimpleGrid cols={{ base: 1, xs: 2, md: 4 }}>
      <Fact label={texts.type}>{record.type}</Fact>
      <Fact label={texts.owner}>{record.owner ?? texts.none}</Fact>
      <Fact label={texts.written}>
        <Time value={record.at} />
      </Fact>
      <Fact label={texts.place}>
        {record.index === null || record.index === undefined ? texts.notKnown : formatNumber(record.index)}
      </Fact>
    </SimpleGrid>
    <Group mt="md" gap="xl">
      <Fact label={texts.transaction}>
        <CodeText value={record.transactionId} label={texts.copyTheTransactionId} />
      </Fact>
      {surface === 'ingest-gateway' && (
        <Fact label={texts.dataView}>
          <Anchor component={Link} to={`/events?${new URLSearchParams({ recordId: record.id })}`} size="sm">
            {texts.itsEvent}
          </Anchor>
        </Fact>
      )}
    </Group>
  </Paper>
);

/** Longer content is collapsed: a megabyte of JSON makes scrolling slow. */
const SHOWN_CHARACTERS = 20_000;

function Json({ value, label }: { value: unknown; label: string }): ReactNode {
  const [isWhole, setWhole] = useState(false);
  const text = JSON.stringify(value, undefined, 2);
  const isCut = !isWhole && text.length > SHOWN_CHARACTERS;
  return (
    <Stack gap={4}>
      <Text size="sm" fw={600}>
        {label}
      </Text>
      <Code block tabIndex={0} aria-label={label} style={{ whiteSpace: 'pre-wrap', overflowWrap: 'anywhere' }}>
        {isCut ? text.slice(0, SHOWN_CHARACTERS) : text}
      </Code>
      {isCut && (
        <Anchor component="button" size="sm" onClick={() => setWhole(true)}>
          {texts.showAllCharacters(formatNumber(text.length))}
        </Anchor>
      )}
    </Stack>
  );
}
