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
import * as texts from './texts.ts';

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
          { title: texts.blockAt(data.blockNumber), to: fabricPath(data.channel, data.blockNumber) },
        ];
  return (
    <Page
      title={texts.transaction}
      above={above}
      intro={<CodeText value={transactionId} label={texts.copyTheTransactionId} />}
    >
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
          <Fact label={texts.result}>
            <CodeBadge code={code} />
          </Fact>
          <Fact label={texts.block}>
            <Anchor component={Link} to={fabricPath(channel, blockNumber)} size="sm">
              {formatNumber(blockNumber)}
            </Anchor>
          </Fact>
          <Fact label={texts.contract}>{chaincode}</Fact>
          <Fact label={texts.theFunction}>{transaction.function ?? texts.none}</Fact>
        </SimpleGrid>
        <Stack gap="xs" mt="md">
          <Fact label={texts.written}>{at === null ? texts.noTime : <Time value={at} />}</Fact>
          <Fact label={texts.creator}>
            {creator.mspId} · {creator.subject}
          </Fact>
          <Fact label={texts.endorsers}>{endorsers.length === 0 ? texts.none : endorsers.join(', ')}</Fact>
        </Stack>
      </Paper>
      <Section title={texts.keysWritten}>
        {code !== 'VALID' && <Text size="sm">{texts.withoutEffectHint}</Text>}
        <PlainTable
          label={texts.keysWritten}
          rows={writes}
          rowKey={({ chaincode: of, key }) => `${of} ${key}`}
          columns={[
            { title: texts.contract, width: '12rem', cell: (write) => write.chaincode },
            {
              title: texts.record,
              cell: ({ record }) => (record === undefined ? '' : `${record.id} (${record.type})`),
            },
            { title: texts.key, wraps: true, cell: ({ key }) => <CodeText value={key} label={texts.copyTheKey} /> },
            {
              title: '',
              width: '8rem',
              cell: ({ isDelete }) => isDelete && <StateBadge tone="wait">{texts.removed}</StateBadge>,
            },
          ]}
          empty={
            <ListEmpty title={texts.itWroteNoKey} icon="ledger">
              {texts.itWroteNoKeyHint}
            </ListEmpty>
          }
        />
      </Section>
    </>
  );
}
