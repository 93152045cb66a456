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
import * as texts from './texts.ts';

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
      title={texts.blockAt(number)}
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
          {texts.previousBlock}
        </Button>
      )}
      <Button component={Link} to={fabricPath(channel, number + 1)} variant="default" size="xs">
        {texts.nextBlock}
      </Button>
    </Group>
  );
}

function Shown({ content: { block, dataHash, entries } }: { content: Content }): ReactNode {
  return (
    <>
      <Paper>
        <SimpleGrid cols={{ base: 1, xs: 3 }}>
          <Fact label={texts.written}>{block.at === null ? texts.noTime : <Time value={block.at} />}</Fact>
          <Fact label={texts.transactions}>
            <Counts block={block} />
          </Fact>
          <Fact label={texts.size}>{formatBytes(block.bytes)}</Fact>
        </SimpleGrid>
        <Stack gap="xs" mt="md">
          <Fact label={texts.hash}>
            <CodeText value={block.hash} label={texts.copyTheHash} />
          </Fact>
          {block.previousHash !== '' && (
            <Fact label={texts.hashOfThePreviousBlock}>
              <CodeText value={block.previousHash} label={texts.copyTheHashOfThePrevious} />
            </Fact>
          )}
          <Fact label={texts.hashOfItsTransactions}>
            <CodeText value={dataHash} label={texts.copyTheHashOfItsTransactions} />
          </Fact>
        </Stack>
      </Paper>
      <Section title={texts.transactions}>
        <PlainTable
          label={texts.transactions}
          rows={entries}
          isDense
          rowKey={({ place }) => String(place)}
          columns={[
            { title: texts.place, align: 'right', width: '4rem', cell: ({ place }: Entry) => formatNumber(place) },
            { title: texts.transaction, cell: (entry) => <TransactionLink entry={entry} /> },
            { title: texts.result, width: '12rem', cell: ({ code }) => <CodeBadge code={code} /> },
            { title: texts.contract, cell: ({ chaincode }) => chaincode },
            { title: texts.theFunction, cell: (entry) => entry.function },
            { title: texts.creator, cell: ({ creator }) => creator.mspId },
            { title: texts.endorsers, cell: ({ endorsers }) => endorsers.join(', ') },
          ]}
          empty={<ListEmpty title={texts.noTransaction} icon="ledger" />}
        />
      </Section>
    </>
  );
}

const KINDS = { configuration: texts.configurationOfTheChannel, other: texts.notOfAContract } as const;

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
    <StateBadge tone="good">{texts.valid}</StateBadge>
  ) : (
    <StateBadge tone="bad">{code.toLowerCase().replaceAll('_', ' ')}</StateBadge>
  );
