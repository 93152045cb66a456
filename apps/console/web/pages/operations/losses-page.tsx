import type { ReactNode } from 'react';
import { Anchor, Stack, Text } from '@mantine/core';
import { Link } from 'react-router';
import type { Schemas } from '@sealgate/client';
import { listed } from '../../shell/api.ts';
import { CodeText } from '../../shell/code-text.tsx';
import { CursorTable } from '../../shell/cursor-table.tsx';
import { ListEmpty } from '../../shell/list-states.tsx';
import { Page } from '../../shell/page.tsx';
import { StateBadge } from '../../shell/state-badge.tsx';
import { Time } from '../../shell/time.tsx';
import { ledgerOf, type LedgerSurface } from '../ledger/ledger-source.ts';
import { lostInWords } from './lost-in-words.ts';
import { Actor } from '../actor.tsx';
import { OfLedger } from './of-ledger.tsx';
import * as texts from './texts.ts';

type Loss = Schemas['ingestGatewayAdmin']['ChannelLoss'];

const REFRESH_MS = 15_000;

/** Channels that lost signed records, and what was declared about it. */
export const LossesPage = (): ReactNode => (
  <OfLedger title={texts.losses}>{(surface, picker) => <Losses surface={surface} picker={picker} />}</OfLedger>
);

const Losses = ({ surface, picker }: { readonly surface: LedgerSurface; readonly picker: ReactNode }): ReactNode => (
  <Page title={texts.losses} intro={texts.lossesIntro} actions={picker}>
    <CursorTable
      label={texts.losses}
      isDense={false}
      page={listed(`${ledgerOf(surface)}/losses`)}
      refetchMs={REFRESH_MS}
      rowKey={({ channel }) => channel}
      columns={[
        {
          title: texts.channel,
          width: '14rem',
          cell: ({ channel }) => (
            <Anchor component={Link} to={`/ledger/${encodeURIComponent(channel)}?by=${surface}`} fw={600} size="sm">
              {channel}
            </Anchor>
          ),
        },
        { title: texts.state, width: '16rem', cell: (loss) => <State loss={loss} /> },
        { title: texts.missing, cell: (loss) => <Missing loss={loss} /> },
        { title: texts.declared, cell: ({ declaration }) => <Declared declaration={declaration} /> },
      ]}
      empty={
        <ListEmpty title={texts.noChannelHasLostRecords} icon="check">
          {texts.noChannelHasLostRecordsHint}
        </ListEmpty>
      }
    />
  </Page>
);

function State({ loss: { status, foundAt, epoch } }: { readonly loss: Loss }): ReactNode {
  if (status === 'whole') return <StateBadge tone="plain">{texts.declaredGoesOnInEpoch(epoch)}</StateBadge>;
  return (
    <Stack gap={2} align="flex-start">
      {status === 'lost' ? (
        <StateBadge tone="bad">{texts.acceptsNoRecords}</StateBadge>
      ) : (
        <StateBadge tone="wait">{texts.declaredGoesOnSoon}</StateBadge>
      )}
      {foundAt !== null && (
        <Text size="xs" c="dimmed" component="div">
          {texts.found(<Time value={foundAt} form="ago" />)}
        </Text>
      )}
    </Stack>
  );
}

function Missing({
  loss: { channel, status, problem, lost, sharedAt, declaration },
}: {
  readonly loss: Loss;
}): ReactNode {
  const entries = lost.length > 0 ? lost : (declaration?.lost ?? []);
  return (
    <Stack gap={4}>
      {entries.map((one) => (
        <Text key={one.epoch} size="sm" className="wrap">
          {lostInWords(one)}
        </Text>
      ))}
      {status === 'lost' && (
        <>
          {problem !== null && <Text size="sm">{problem}</Text>}
          {sharedAt !== null && (
            <Text size="sm" component="div">
              {texts.wholeUntil(<Time value={sharedAt} />)}
            </Text>
          )}
          <Text size="sm" component="div">
            {texts.restoreOrDeclare(
              <CodeText value={`npx sealgate ledger recover ${channel}`} label={texts.copyTheCommand} />,
            )}
          </Text>
        </>
      )}
    </Stack>
  );
}

function Declared({ declaration }: { readonly declaration: Loss['declaration'] }): ReactNode {
  if (declaration === null) return texts.notDeclared;
  const { at, actor, reason } = declaration;
  return (
    <Stack gap={2}>
      <Text size="sm" className="wrap">
        {reason}
      </Text>
      <Text size="xs" c="dimmed" className="wrap" component="div">
        {texts.declaredBy(<Time value={at} />, <Actor actor={actor} />)}
      </Text>
    </Stack>
  );
}
