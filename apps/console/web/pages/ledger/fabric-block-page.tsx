import type { ReactNode } from 'react';
import { Anchor, Button, Group, Paper, SimpleGrid, Stack } from '@mantine/core';
import { Link, useParams } from 'react-router';
import type { Schemas } from '@sealgate/client';
import { api } from '../../shell/api.ts';
import { CodeText } from '../../shell/code-text.tsx';
import { PlainTable } from '../../shell/cursor-table.tsx';
import { formatBytes, formatNumber } from '../../shell/formats.ts';
import { ListEmpty, Unread } from '../../shell/list-states.tsx';
import { Fact, Page, Section } from '../../shell/page.tsx';
import { StateBadge } from '../../shell/state-badge.tsx';
import { Time } from '../../shell/time.tsx';
import { aboveFabric, Counts } from './fabric-channel-page.tsx';
import { fabricPath } from './fabric-channels.tsx';

type Content = Schemas['ledgerPeerAdmin']['FabricBlockContent'];
type Entry = Schemas['ledgerPeerAdmin']['FabricBlockEntry'];

/** One block: how it is linked, and its transactions. */
export function FabricBlockPage(): ReactNode {
  const { channel = '', number = '' } = useParams();
  const read = api.useQuery('get', '/admin/ledger-peer/admin/v1/fabric/channels/{channel}/blocks/{number}', {
    params: { path: { channel, number } },
  });
  return (
    <Page
      title={`Block ${number}`}
      above={[aboveFabric, { title: channel, to: fabricPath(channel) }]}
      actions={<Neighbours channel={channel} number={Number(number)} />}
    >
      {read.data === undefined ? <Unread read={read} /> : <Shown content={read.data} />}
    </Page>
  );
}

/** The next block may not be there yet: then its page says so. */
function Neighbours({ channel, number }: { channel: string; number: number }): ReactNode {
  return (
    <Group gap="xs">
      {number > 0 && (
        <Button component={Link} to={fabricPath(channel, number - 1)} variant="default" size="xs">
          Previous block
        </Button>
      )}
      <Button component={Link} to={fabricPath(channel, number + 1)} variant="default" size="xs">
        Next block
      </Button>
    </Group>
  );
}

function Shown({ content: { block, dataHash, entries } }: { content: Content }): ReactNode {
  return (
    <>
      <Paper>
        <SimpleGrid cols={{ base: 1, xs: 3 }}>
          <Fact label="Written">{block.at === null ? 'no time' : <Time value={block.at} />}</Fact>
          <Fact label="Transactions">
            <Counts block={block} />
          </Fact>
          <Fact label="Size">{formatBytes(block.bytes)}</Fact>
        </SimpleGrid>
        <Stack gap="xs" mt="md">
          <Fact label="Hash">
            <CodeText value={block.hash} label="the hash" />
          </Fact>
          {block.previousHash !== '' && (
            <Fact label="Hash of the previous block">
              <CodeText value={block.previousHash} label="the hash of the previous block" />
            </Fact>
          )}
          <Fact label="Hash of its transactions">
            <CodeText value={dataHash} label="the hash of its transactions" />
          </Fact>
        </Stack>
      </Paper>
      <Section title="Transactions">
        <PlainTable
          label="Transactions"
          rows={entries}
          isDense
          rowKey={({ place }) => String(place)}
          columns={[
            { title: 'Place', align: 'right', width: '4rem', cell: ({ place }: Entry) => formatNumber(place) },
            { title: 'Transaction', cell: (entry) => <TransactionLink entry={entry} /> },
            { title: 'Result', width: '12rem', cell: ({ code }) => <CodeBadge code={code} /> },
            { title: 'Contract', cell: ({ chaincode }) => chaincode },
            { title: 'Function', cell: (entry) => entry.function },
            { title: 'Creator', cell: ({ creator }) => creator.mspId },
            { title: 'Endorsers', cell: ({ endorsers }) => endorsers.join(', ') },
          ]}
          empty={<ListEmpty title="No transaction" icon="ledger" />}
        />
      </Section>
    </>
  );
}

const KINDS = { configuration: 'Configuration of the channel', other: 'Not of a contract' } as const;

function TransactionLink({ entry: { kind, transactionId } }: { entry: Entry }): ReactNode {
  if (kind !== 'contract') return KINDS[kind];
  return (
    <Anchor component={Link} to={`/ledger/fabric/transactions/${transactionId}`} size="sm" ff="monospace">
      {transactionId.slice(0, 16)}…
    </Anchor>
  );
}

/** Whether a transaction has an effect, and Fabric's word for why not. */
export const CodeBadge = ({ code }: { code: string }): ReactNode =>
  code === 'VALID' ? (
    <StateBadge tone="good">Valid</StateBadge>
  ) : (
    <StateBadge tone="bad">{code.toLowerCase().replaceAll('_', ' ')}</StateBadge>
  );
