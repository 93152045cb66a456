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
  const make = <Button onClick={() => setMaking(true)}>New subscription</Button>;
  return (
    <Page
      title="Subscriptions"
      intro="Commits of a channel, and what contracts on Fabric emit, are sent to a receiver as signed webhooks: in order, and until each is acknowledged."
      actions={make}
    >
      <CursorTable
        label="Subscriptions"
        tools={{ searches: 'URL, channel or id', order: '-createdAt' }}
        page={listed(ROUTE)}
        refetchMs={REFRESH_MS}
        rowKey={({ subscriptionId }) => subscriptionId}
        columns={[
          {
            title: 'Receiver',
            cell: ({ url }) => <CodeText value={url} label="the address" short={URL_CHARACTERS} />,
          },
          { title: 'Channel', width: '12rem', cell: ({ channel }) => channel },
          { title: 'State', width: '9rem', cell: ({ state }) => <State state={state} /> },
          { title: 'Last attempt', width: '16rem', wraps: true, cell: (row) => <LastAttempt row={row} /> },
          {
            title: 'Made',
            width: '9rem',
            sort: '-createdAt',
            cell: (row) => <Time value={row.createdAt} form="ago" />,
          },
          {
            title: 'Actions',
            width: '5rem',
            cell: (subscription) => (
              <RowMenu
                label={`Actions of ${subscription.url}`}
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
          <ListEmpty title="No subscription yet" icon="live" action={make}>
            A receiver needs an https address. Without one, programs read the same events at /api/events.
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
        <SecretShown title="The subscription is made" subscription={made} onClose={() => setMade(undefined)} />
      )}
      {open !== undefined && <SubscriptionDialog {...open} onChange={reload} onClose={() => setOpen(undefined)} />}
    </Page>
  );
}

const STATES: Readonly<Record<Subscription['state'], readonly [Tone, string]>> = {
  active: ['good', 'Active'],
  failing: ['wait', 'Failing'],
  paused: ['plain', 'Paused'],
  stopped: ['bad', 'Stopped'],
};

function State({ state }: Pick<Subscription, 'state'>): ReactNode {
  const [tone, text] = STATES[state];
  return <StateBadge tone={tone}>{text}</StateBadge>;
}

const PROBLEMS: Readonly<Record<string, string>> = {
  address_refused: 'The address is not public',
  no_address: 'The name does not resolve',
  no_answer: 'No answer',
  certificate_refused: 'Its certificate is of another name, or of no authority that is known here',
  redirect: 'It redirects, which is not followed',
  status: 'It answers with an error',
  secret_sealed: 'None of its secrets can be opened',
};

function LastAttempt({ row: { problem, failingSince, deliveredAt } }: { readonly row: Subscription }): ReactNode {
  if (problem !== null && failingSince !== null)
    return (
      <>
        {PROBLEMS[problem] ?? problem}, since <Time value={failingSince} form="ago" />
      </>
    );
  if (deliveredAt === null) return 'Nothing yet';
  return (
    <>
      Acknowledged <Time value={deliveredAt} form="ago" />
    </>
  );
}

interface NewProps {
  readonly onDone: (made: Subscription) => void;
  readonly onClose: () => void;
}

function NewSubscription({ onDone, onClose }: NewProps): ReactNode {
  const make = api.useMutation('post', ROUTE, { onSuccess: onDone });
  const form = useForm({
    initialValues: { url: 'https://', channel: '', types: [] as string[], from: 'now' },
    validate: { url: (url) => (URL.canParse(url.trim()) ? null : 'This is no address.'), channel: filled },
  });
  return (
    <FormDialog
      title="New subscription"
      action="Make it"
      form={form}
      doing={make}
      explain={{
        UNKNOWN_CHANNEL: 'The mapping file of the ledger peer names the channels that it serves.',
        UNKNOWN_CHAINCODE: 'The mapping file maps no such type to this channel.',
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
        label="Address of the receiver"
        description="https, and public; SUBSCRIPTION_ALLOWED_CIDRS of the ledger peer names private networks."
        type="url"
        required
        maxLength={2048}
        {...form.getInputProps('url')}
      />
      <TextInput
        label="Channel"
        description="As the mapping names it: acme.main."
        required
        maxLength={200}
        {...form.getInputProps('channel')}
      />
      <TagsInput
        label="Types of records"
        description="None: all that are mapped to the channel."
        maxTags={100}
        {...form.getInputProps('types')}
      />
      <NativeSelect
        label="Begins with"
        data={[
          { value: 'now', label: 'the next event' },
          { value: '0', label: 'the first event of the channel' },
        ]}
        {...form.getInputProps('from')}
      />
    </FormDialog>
  );
}
