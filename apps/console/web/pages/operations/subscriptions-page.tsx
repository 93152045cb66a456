import { useState, type ReactNode } from 'react';
import { Button, NativeSelect, TagsInput, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { api, listed, useReload } from '../../shell/api.ts';
import { CodeText } from '../../shell/code-text.tsx';
import { CursorTable } from '../../shell/cursor-table.tsx';
import { ListEmpty } from '../../shell/list-states.tsx';
import { Page } from '../../shell/page.tsx';
import { StateBadge, type Tone } from '../../shell/state-badge.tsx';
import { Time } from '../../shell/time.tsx';
import { FormDialog } from '../form-dialog.tsx';
import { filled } from '../form-faults.ts';
import { RowMenu } from '../row-menu.tsx';
import {
  SecretShown,
  SubscriptionDialog,
  subscriptionActions,
  type Subscription,
  type SubscriptionAction,
} from './subscription-dialogs.tsx';
import * as texts from './texts.ts';

const REFRESH_MS = 15_000;
const URL_CHARACTERS = 48;

const ROUTE = '/admin/ledger-peer/admin/v1/subscriptions';

/** Receivers of events of the ledger peer, as signed webhooks. */
export function SubscriptionsPage(): ReactNode {
  const [making, setMaking] = useState(false);
  const [made, setMade] = useState<Subscription>();
  const [open, setOpen] = useState<{ readonly action: SubscriptionAction; readonly subscription: Subscription }>();
  const again = useReload();
  const reload = (): void => void again(ROUTE);
  const make = <Button onClick={() => setMaking(true)}>{texts.newSubscription}</Button>;
  return (
    <Page title={texts.subscriptions} intro={texts.subscriptionsIntro} actions={make}>
      <CursorTable
        label={texts.subscriptions}
        tools={{ searches: texts.wordsInUrl, order: '-createdAt' }}
        page={listed(ROUTE)}
        refetchMs={REFRESH_MS}
        rowKey={({ subscriptionId }) => subscriptionId}
        columns={[
          {
            title: texts.receiver,
            cell: ({ url }) => <CodeText value={url} label={texts.copyTheAddress} short={URL_CHARACTERS} />,
          },
          { title: texts.channel, width: '12rem', cell: ({ channel }) => channel },
          { title: texts.state, width: '9rem', cell: ({ state }) => <State state={state} /> },
          { title: texts.lastAttempt, width: '16rem', wraps: true, cell: (row) => <LastAttempt row={row} /> },
          {
            title: texts.made,
            width: '9rem',
            sort: '-createdAt',
            cell: (row) => <Time value={row.createdAt} form="ago" />,
          },
          {
            title: texts.actions,
            width: '5rem',
            cell: (subscription) => (
              <RowMenu
                label={texts.actionsOf(subscription.url)}
                actions={subscriptionActions(subscription).map(([action, title]) => ({
                  title,
                  onClick: () => setOpen({ action, subscription }),
                  ...(action === 'delete' && { tone: 'danger' }),
                }))}
              />
            ),
          },
        ]}
        empty={
          <ListEmpty title={texts.noSubscriptionYet} icon="live" action={make}>
            {texts.noSubscriptionYetHint}
          </ListEmpty>
        }
      />
      {making && (
        <NewSubscription
          onDone={(subscription) => {
            setMaking(false);
            setMade(subscription);
            reload();
          }}
          onClose={() => setMaking(false)}
        />
      )}
      {made !== undefined && (
        <SecretShown title={texts.theSubscriptionIsMade} subscription={made} onClose={() => setMade(undefined)} />
      )}
      {open !== undefined && <SubscriptionDialog {...open} onChange={reload} onClose={() => setOpen(undefined)} />}
    </Page>
  );
}

const STATES: Readonly<Record<Subscription['state'], readonly [Tone, string]>> = {
  active: ['good', texts.active],
  failing: ['wait', texts.failing],
  paused: ['plain', texts.paused],
  stopped: ['bad', texts.stopped],
};

function State({ state }: Pick<Subscription, 'state'>): ReactNode {
  const [tone, text] = STATES[state];
  return <StateBadge tone={tone}>{text}</StateBadge>;
}

const PROBLEMS: Readonly<Record<string, string>> = {
  address_refused: texts.theAddressIsNotPublic,
  no_address: texts.theNameDoesNotResolve,
  no_answer: texts.noAnswer,
  certificate_refused: texts.certificateRefused,
  redirect: texts.itRedirects,
  status: texts.itAnswersWithAnError,
  secret_sealed: texts.noneOfItsSecretsCan,
};

function LastAttempt({ row: { problem, failingSince, deliveredAt } }: { readonly row: Subscription }): ReactNode {
  if (problem !== null && failingSince !== null)
    return texts.sinceWhen(PROBLEMS[problem] ?? problem, <Time value={failingSince} form="ago" />);
  if (deliveredAt === null) return texts.nothingYet;
  return texts.acknowledged(<Time value={deliveredAt} form="ago" />);
}

interface NewProps {
  readonly onDone: (made: Subscription) => void;
  readonly onClose: () => void;
}

function NewSubscription({ onDone, onClose }: NewProps): ReactNode {
  const make = api.useMutation('post', ROUTE, { onSuccess: onDone });
  const form = useForm({
    initialValues: { url: 'https://', channel: '', types: [] as string[], from: 'now' },
    validate: { url: (url) => (URL.canParse(url.trim()) ? null : texts.thisIsNoAddress), channel: filled },
  });
  return (
    <FormDialog
      title={texts.newSubscription}
      action={texts.makeIt}
      form={form}
      doing={make}
      explain={{
        UNKNOWN_CHANNEL: texts.unknownChannelHint,
        UNKNOWN_CHAINCODE: texts.unknownTypeHint,
      }}
      onSubmit={({ url, channel, types, from }) =>
        make.mutate({
          body: {
            ...{ url: url.trim(), channel: channel.trim() },
            ...(types.length > 0 && { types }),
            ...(from === '0' && { from }),
          },
        })
      }
      onClose={onClose}
    >
      <TextInput
        label={texts.addressOfTheReceiver}
        description={texts.addressOfTheReceiverHint}
        type="url"
        required
        maxLength={2048}
        {...form.getInputProps('url')}
      />
      <TextInput
        label={texts.channel}
        description={texts.channelHint}
        required
        maxLength={200}
        {...form.getInputProps('channel')}
      />
      <TagsInput
        label={texts.typesOfRecords}
        description={texts.typesOfRecordsHint}
        maxTags={100}
        {...form.getInputProps('types')}
      />
      <NativeSelect
        label={texts.beginsWith}
        data={[
          { value: 'now', label: texts.theNextEvent },
          { value: '0', label: texts.theFirstEvent },
        ]}
        {...form.getInputProps('from')}
      />
    </FormDialog>
  );
}
