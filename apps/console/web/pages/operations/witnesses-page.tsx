import type { ReactNode } from 'react';
import { Anchor, Code, Group, List, Paper, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from 'react-router';
import type { Schemas } from '@sealgate/client';
import { api, listed } from '../../shell/api.ts';
import { CodeText } from '../../shell/code-text.tsx';
import { CursorTable, PlainTable } from '../../shell/cursor-table.tsx';
import { ListEmpty, Unread } from '../../shell/list-states.tsx';
import { Page, Section } from '../../shell/page.tsx';
import { asProblem } from '../../shell/problem.ts';
import { StateBadge } from '../../shell/state-badge.tsx';
import { Time } from '../../shell/time.tsx';
import { ledgerOf, type LedgerSurface } from '../ledger/ledger-source.ts';
import { cosigned, describePolicy } from './cosigned.ts';
import { OfLedger } from './of-ledger.tsx';
import { formatNumber } from '../../shell/formats.ts';
import * as texts from './texts.ts';

type Policy = Schemas['ingestGatewayAdmin']['WitnessPolicy'];

/** The policies of witnesses, and which witness cosigned what. */
export const WitnessesPage = (): ReactNode => (
  <OfLedger title={texts.witnesses}>{(surface, picker) => <Witnesses surface={surface} picker={picker} />}</OfLedger>
);

interface SurfaceProps {
  readonly surface: LedgerSurface;
}

function Witnesses({ surface, picker }: SurfaceProps & { readonly picker: ReactNode }): ReactNode {
  const read = api.useQuery('get', `${ledgerOf(surface)}/witnesses`);
  const policies = read.data?.policies;
  return (
    <Page title={texts.witnesses} intro={texts.witnessesIntro} actions={picker}>
      <Unread read={read} />
      {policies?.length === 0 && (
        <Paper>
          <ListEmpty title={texts.noWitnessesHere} icon="person">
            {texts.noWitnessesHereHint}
          </ListEmpty>
        </Paper>
      )}
      {policies !== undefined && policies.length > 0 && (
        <>
          {policies.map((policy) => (
            <PolicyOf key={policy.channel ?? ''} policy={policy} />
          ))}
          <Section title={texts.publishedCheckpoints}>
            <Channels surface={surface} policies={policies} />
          </Section>
        </>
      )}
    </Page>
  );
}

function PolicyOf({ policy: { channel, policy } }: { readonly policy: Policy }): ReactNode {
  const { witnesses, rules } = describePolicy(policy);
  return (
    <Section title={channel === null ? texts.policyOfAllChannels : texts.policyOf(channel)}>
      {witnesses.length === 0 ? (
        <Text size="sm">{texts.noWitnessIsAsked}</Text>
      ) : (
        <PlainTable
          label={channel === null ? texts.witnessesOfAllChannels : texts.witnessesOf(channel)}
          rows={witnesses}
          rowKey={({ name }) => name}
          columns={[
            { title: texts.witness, width: '10rem', cell: ({ name }) => name },
            { title: texts.keyName, cell: ({ keyName }) => keyName },
            {
              title: texts.keyToPin,
              width: '16rem',
              cell: ({ verifierKey }) => <CodeText value={verifierKey} label={texts.copyTheKey} short={22} />,
            },
            { title: texts.address, cell: ({ url }) => url ?? '–' },
          ]}
          isDense
          empty={null}
        />
      )}
      <Group gap="xs">
        {rules.map((rule) => (
          <Code key={rule}>{rule}</Code>
        ))}
      </Group>
    </Section>
  );
}

/** Few at once: the logs of each are asked for. */
const CHANNELS_SHOWN = 8;

interface ChannelsProps extends SurfaceProps {
  readonly policies: readonly Policy[];
}

const Channels = ({ surface, policies }: ChannelsProps): ReactNode => (
  <CursorTable
    label={texts.cosignedCheckpoints}
    page={listed(`${ledgerOf(surface)}/channels`, { query: { limit: CHANNELS_SHOWN } })}
    rowKey={({ channel }) => channel}
    columns={[
      {
        title: texts.channel,
        width: '18rem',
        cell: ({ channel }) => (
          <Anchor component={Link} to={`/ledger/${encodeURIComponent(channel)}?by=${surface}`} fw={600} size="sm">
            {channel}
          </Anchor>
        ),
      },
      { title: texts.records, align: 'right', width: '8rem', cell: ({ size }) => formatNumber(size) },
      {
        title: texts.witnesses,
        wraps: true,
        cell: ({ channel }) => <CosignedBy surface={surface} channel={channel} policy={policyFor(policies, channel)} />,
      },
    ]}
    empty={<ListEmpty title={texts.theLedgerIsEmpty} icon="ledger" />}
  />
);

const policyFor = (policies: readonly Policy[], channel: string): string | undefined =>
  (policies.find((one) => one.channel === channel) ?? policies.find((one) => one.channel === null))?.policy;

interface CosignedProps extends SurfaceProps {
  readonly channel: string;
  readonly policy: string | undefined;
}

function CosignedBy({ surface, channel, policy }: CosignedProps): ReactNode {
  const logs = api.useQuery(
    'get',
    `${ledgerOf(surface)}/channels/{channel}/logs`,
    { params: { path: { channel } } },
    { enabled: policy !== undefined },
  );
  const note = logs.data?.logs.at(-1)?.published ?? null;
  const found = useQuery({
    queryKey: ['cosigned', policy, note],
    enabled: logs.isSuccess,
    queryFn: () => (note === null ? null : cosigned(policy ?? '', note)),
  });
  if (policy === undefined) return texts.noPolicyHere;
  const failed = [logs, found].find(({ isError }) => isError);
  if (failed !== undefined) return <StateBadge tone="bad">{asProblem(failed.error).message}</StateBadge>;
  if (found.data === undefined) return texts.checking;
  if (found.data === null) return texts.nothingIsPublishedYet;
  const { size, isQuorum, witnesses } = found.data;
  return (
    <Stack gap={4} align="flex-start">
      <Group gap="xs">
        <StateBadge tone={isQuorum ? 'good' : 'bad'}>{isQuorum ? texts.quorum : texts.noQuorum}</StateBadge>
        <Text size="sm">{texts.atEntries(formatNumber(size))}</Text>
      </Group>
      <List size="sm" listStyleType="none">
        {witnesses.map(({ name, at, isWrong }) => (
          <List.Item key={name} className="wrap">
            {name}: {at !== undefined && <Time value={at.toISOString()} form="ago" />}
            {at === undefined && (isWrong ? texts.wrongSignature : texts.hasNotCosigned)}
          </List.Item>
        ))}
      </List>
    </Stack>
  );
}
