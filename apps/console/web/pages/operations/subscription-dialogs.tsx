import { useState, type ReactNode } from 'react';
import { Alert, Button, Checkbox, Group, Stack, Text, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import type { Schemas } from '@sealgate/client';
import { api, server } from '../../shell/api.ts';
import { CodeText } from '../../shell/code-text.tsx';
import { ProblemView } from '../../shell/problem-view.tsx';
import { Time } from '../../shell/time.tsx';
import { ConfirmDialog } from '../confirm-dialog.tsx';
import { FormDialog } from '../form-dialog.tsx';
import { ShownOnce } from '../shown-once.tsx';

export type Subscription = Schemas['ledgerPeerAdmin']['Subscription'];

const ROUTE = '/admin/ledger-peer/admin/v1/subscriptions/{subscriptionId}';

export type SubscriptionAction = 'pause' | 'secrets' | 'delete';

/** What an operator may do with a subscription, in the order of menus. */
export const subscriptionActions = ({ paused }: Subscription): readonly (readonly [SubscriptionAction, string])[] => [
  ['secrets', 'Secrets'],
  ['pause', paused ? 'Resume' : 'Pause'],
  ['delete', 'Delete'],
];

interface DialogProps {
  readonly subscription: Subscription;
  /** Called after each change. */
  readonly onChange: () => void;
  readonly onClose: () => void;
}

export function SubscriptionDialog({
  action,
  ...props
}: DialogProps & { readonly action: SubscriptionAction }): ReactNode {
  if (action === 'secrets') return <Secrets {...props} />;
  const done = (): void => {
    props.onChange();
    props.onClose();
  };
  return action === 'pause' ? <Pause {...props} onDone={done} /> : <Remove {...props} onDone={done} />;
}

interface EndingProps extends DialogProps {
  readonly onDone: () => void;
}

const Pause = ({ subscription: { subscriptionId, paused, state }, onDone, onClose }: EndingProps): ReactNode => (
  <ConfirmDialog
    title={paused ? 'Resume the subscription' : 'Pause the subscription'}
    action={paused ? 'Resume it' : 'Pause it'}
    run={() => server.PATCH(ROUTE, { params: { path: { subscriptionId } }, body: { paused: !paused } })}
    onDone={onDone}
    onClose={onClose}
  >
    <Text size="sm">
      {paused
        ? `It goes on with the first event that was not acknowledged${state === 'stopped' ? ', which was tried for 72 hours' : ''}; nothing was left out.`
        : 'Nothing is sent until it is resumed; then it goes on where it stopped.'}
    </Text>
  </ConfirmDialog>
);

const Remove = ({ subscription: { subscriptionId, url }, onDone, onClose }: EndingProps): ReactNode => (
  <ConfirmDialog
    title="Delete the subscription"
    action="Delete the subscription"
    tone="danger"
    run={() => server.DELETE(ROUTE, { params: { path: { subscriptionId } } })}
    onDone={onDone}
    onClose={onClose}
  >
    <Text size="sm" className="wrap">
      Nothing more is sent to {url}, and how far it is gets lost: a new subscription begins where it is told to.
    </Text>
  </ConfirmDialog>
);

/** Adds a secret, which is shown once, or ends one: a rotation in two steps, without a webhook that cannot be verified. */
function Secrets({ subscription, onChange, onClose }: DialogProps): ReactNode {
  const params = { path: { subscriptionId: subscription.subscriptionId } };
  const [current, setCurrent] = useState(subscription);
  const [isShown, setShown] = useState(false);
  const [isSure, setSure] = useState(false);
  const { secrets } = current;
  const form = useForm({
    initialValues: { id: '' },
    validate: {
      id: (id) => (/^[a-z0-9][a-z0-9-]{0,39}$/.test(id.trim()) ? null : 'Lower-case letters, digits and hyphens.'),
    },
  });
  const finished = {
    onSuccess(changed: Subscription) {
      setCurrent(changed);
      form.reset();
      setSure(false);
      setShown(changed.secrets.some(({ value }) => value !== undefined));
      onChange();
    },
  };
  const kept = secrets.map(({ id }) => ({ id }));
  const adding = api.useMutation('patch', ROUTE, finished);
  const end = api.useMutation('patch', ROUTE, finished);
  const isFull = secrets.length > 1;
  if (isShown) return <SecretShown title="The secret is made" subscription={current} onClose={() => setShown(false)} />;
  return (
    <FormDialog
      title="Secrets"
      action="Add a secret"
      closing="Close"
      doing={adding}
      form={form}
      part={`/secrets/${kept.length}`}
      isReady={!isFull}
      onSubmit={({ id }) => adding.mutate({ params, body: { secrets: [...kept, { id: id.trim() }] } })}
      onClose={onClose}
    >
      <Text size="sm">
        Each of them signs every webhook: add a new one, set it at the receiver, then end the old one.
      </Text>
      <Stack gap="xs">
        {secrets.map((secret) => (
          <Group key={secret.id} justify="space-between">
            <Text size="sm" className="wrap" component="div">
              <strong>{secret.id}</strong>, since <Time value={secret.createdAt} form="ago" />
            </Text>
            <Button
              size="compact-sm"
              variant="default"
              disabled={!isFull || !isSure}
              loading={end.isPending}
              aria-label={`End the secret ${secret.id}`}
              onClick={() => end.mutate({ params, body: { secrets: kept.filter(({ id }) => id !== secret.id) } })}
            >
              End it
            </Button>
          </Group>
        ))}
      </Stack>
      {isFull ? (
        <Checkbox
          label="The receiver verifies with the secret that stays"
          checked={isSure}
          onChange={(event) => setSure(event.currentTarget.checked)}
        />
      ) : (
        <TextInput
          label="Name of the new secret"
          description="Lower-case letters, digits and hyphens. Its value is made here and shown once."
          required
          maxLength={40}
          {...form.getInputProps('id')}
        />
      )}
      {end.isError && <ProblemView error={end.error} />}
    </FormDialog>
  );
}

/** Values that the last answer had: no other has them. */
const NewSecrets = ({ subscription: { secrets } }: Pick<DialogProps, 'subscription'>): ReactNode =>
  secrets.map(
    ({ id, value }) =>
      value !== undefined && (
        <Alert key={id} color="yellow" variant="light" title={`The secret ${id} is shown once`}>
          <CodeText value={value} label="the secret" />
        </Alert>
      ),
  );

interface ShownProps extends Pick<DialogProps, 'subscription' | 'onClose'> {
  readonly title: string;
}

/** After a subscription was made, or given another secret. */
export const SecretShown = ({ title, subscription, onClose }: ShownProps): ReactNode => (
  <ShownOnce title={title} onClose={onClose}>
    <Text size="sm">
      The receiver verifies webhooks with this secret, by any library of Standard Webhooks. It is kept encrypted.
    </Text>
    <NewSecrets subscription={subscription} />
  </ShownOnce>
);
