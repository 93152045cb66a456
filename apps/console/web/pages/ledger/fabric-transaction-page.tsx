import type { ReactNode } from 'react';
import { Anchor, Paper, SimpleGrid, Stack, Text } from '@mantine/core';
import { Link, useParams } from 'react-router';
import type { Schemas } from '@sealgate/client';
import { api } from '../../shell/api.ts';
import { CodeText } from '../../shell/code-text.tsx';
import { PlainTable } from '../../shell/cursor-table.tsx';
import { formatNumber } from '../../shell/formats.ts';
import { ListEmpty, Unread } from '../../shell/list-states.tsx';
import { Fact, Page, Section } from '../../shell/page.tsx';
import { StateBadge } from '../../shell/state-badge.tsx';
import { Time } from '../../shell/time.tsx';
import { CodeBadge } from './fabric-block-page.tsx';
import { aboveFabric } from './fabric-channel-page.tsx';
import { fabricPath } from './fabric-channels.tsx';

type Transaction = Schemas['ledgerPeerAdmin']['FabricTransaction'];

/** One transaction: who made and endorsed it, what became of it, and what it wrote. */
export function FabricTransactionPage(): ReactNode {
  const { transactionId = '' } = useParams();
  const read = api.useQuery('get', '/admin/ledger-peer/admin/v1/fabric/transactions/{transactionId}', {
    params: { path: { transactionId } },
  });
  const { data } = read;
  const above =
    data === undefined
      ? [aboveFabric]
      : [
          aboveFabric,
          { title: data.channel, to: fabricPath(data.channel) },
          { title: `Block ${data.blockNumber}`, to: fabricPath(data.channel, data.blockNumber) },
        ];
  return (
    <Page title="Transaction" above={above} intro={<CodeText value={transactionId} label="the transaction id" />}>
      {data === undefined ? <Unread read={read} /> : <Shown transaction={data} />}
    </Page>
  );
}

function Shown({ transaction }: { transaction: Transaction }): ReactNode {
  const { channel, blockNumber, code, creator, endorsers, chaincode, at, writes } = transaction;
  return (
    <>
      <Paper>
        <SimpleGrid cols={{ base: 1, xs: 2, md: 4 }}>
          <Fact label="Result">
            <CodeBadge code={code} />
          </Fact>
          <Fact label="Block">
            <Anchor component={Link} to={fabricPath(channel, blockNumber)} size="sm">
              {formatNumber(blockNumber)}
            </Anchor>
          </Fact>
          <Fact label="Contract">{chaincode}</Fact>
          <Fact label="Function">{transaction.function ?? 'none'}</Fact>
        </SimpleGrid>
        <Stack gap="xs" mt="md">
          <Fact label="Written">{at === null ? 'no time' : <Time value={at} />}</Fact>
          <Fact label="Creator">
            {creator.mspId} · {creator.subject}
          </Fact>
          <Fact label="Endorsers">{endorsers.length === 0 ? 'none' : endorsers.join(', ')}</Fact>
        </Stack>
      </Paper>
      <Section title="Keys written">
        {code !== 'VALID' && <Text size="sm">It is in the block and has no effect: none of these was written.</Text>}
        <PlainTable
          label="Keys written"
          rows={writes}
          rowKey={({ chaincode: of, key }) => `${of} ${key}`}
          columns={[
            { title: 'Contract', width: '12rem', cell: (write) => write.chaincode },
            { title: 'Record', cell: ({ record }) => (record === undefined ? '' : `${record.id} (${record.type})`) },
            { title: 'Key', wraps: true, cell: ({ key }) => <CodeText value={key} label="the key" /> },
            {
              title: '',
              width: '8rem',
              cell: ({ isDelete }) => isDelete && <StateBadge tone="wait">Removed</StateBadge>,
            },
          ]}
          empty={
            <ListEmpty title="It wrote no key" icon="ledger">
              Keys of private collections are in no block.
            </ListEmpty>
          }
        />
      </Section>
    </>
  );
}
