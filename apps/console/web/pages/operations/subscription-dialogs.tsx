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
import * as texts from './texts.ts';

export type Subscription = Schemas['ledgerPeerAdmin']['Subscription'];

const ROUTE = '/admin/ledger-peer/admin/v1/subscriptions/{subscriptionId}';

export type SubscriptionAction = 'pause' | 'secrets' | 'delete';

/** What an operator may do with a subscription, in the order of menus. */
export const subscriptionActions = ({ paused }: Subscription): readonly (readonly [SubscriptionAction, string])[] => [
  ['secrets', texts.secrets],
  ['pause', paused ? texts.resume : texts.pause],
  ['delete', texts.remove],
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

const GOES_ON = {
  stopped: texts.goesOnWithTriedEvent,
  paused: texts.goesOnWithEvent,
} as const;

const Pause = ({ subscription: { subscriptionId, paused, state }, onDone, onClose }: EndingProps): ReactNode => (
  <ConfirmDialog
    title={paused ? texts.resumeTheSubscription : texts.pauseTheSubscription}
    action={paused ? texts.resumeIt : texts.pauseIt}
    run={() => server.PATCH(ROUTE, { params: { path: { subscriptionId } }, body: { paused: !paused } })}
    onDone={onDone}
    onClose={onClose}
  >
    <Text size="sm">{paused ? GOES_ON[state === 'stopped' ? 'stopped' : 'paused'] : texts.pauseHint}</Text>
  </ConfirmDialog>
);

const Remove = ({ subscription: { subscriptionId, url }, onDone, onClose }: EndingProps): ReactNode => (
  <ConfirmDialog
    title={texts.deleteTheSubscription}
    action={texts.deleteTheSubscription}
    tone="danger"
    run={() => server.DELETE(ROUTE, { params: { path: { subscriptionId } } })}
    onDone={onDone}
    onClose={onClose}
  >
    <Text size="sm" className="wrap">
      {texts.deleteHint(url)}
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
      id: (id) => (/^[a-z0-9][a-z0-9-]{0,39}$/.test(id.trim()) ? null : texts.secretNameFault),
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
  if (isShown)
    return <SecretShown title={texts.theSecretIsMade} subscription={current} onClose={() => setShown(false)} />;
  return (
    <FormDialog
      title={texts.secrets}
      action={texts.addASecret}
      closing={texts.close}
      doing={adding}
      form={form}
      part={`/secrets/${kept.length}`}
      isReady={!isFull}
      onSubmit={({ id }) => adding.mutate({ params, body: { secrets: [...kept, { id: id.trim() }] } })}
      onClose={onClose}
    >
      <Text size="sm">{texts.secretsHint}</Text>
      <Stack gap="xs">
        {secrets.map((secret) => (
          <Group key={secret.id} justify="space-between">
            <Text size="sm" className="wrap" component="div">
              {texts.sinceWhen(<strong>{secret.id}</strong>, <Time value={secret.createdAt} form="ago" />)}
            </Text>
            <Button
              size="compact-sm"
              variant="default"
              disabled={!isFull || !isSure}
              loading={end.isPending}
              aria-label={texts.endTheSecret(secret.id)}
              onClick={() => end.mutate({ params, body: { secrets: kept.filter(({ id }) => id !== secret.id) } })}
            >
              {texts.endIt}
            </Button>
          </Group>
        ))}
      </Stack>
      {isFull ? (
        <Checkbox
          label={texts.theOtherSecretIsInUse}
          checked={isSure}
          onChange={(event) => setSure(event.currentTarget.checked)}
        />
      ) : (
        <TextInput
          label={texts.nameOfTheNewSecret}
          description={texts.nameOfTheNewSecretHint}
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
        <Alert key={id} color="yellow" variant="light" title={texts.theSecretIsShownOnce(id)}>
          <CodeText value={value} label={texts.copyTheSecret} />
        </Alert>
      ),
  );

interface ShownProps extends Pick<DialogProps, 'subscription' | 'onClose'> {
  readonly title: string;
}

/** After a subscription was made, or given another secret. */
export const SecretShown = ({ title, subscription, onClose }: ShownProps): ReactNode => (
  <ShownOnce title={title} onClose={onClose}>
    <Text size="sm">{texts.newSecretHint}</Text>
    <NewSecrets subscription={subscription} />
  </ShownOnce>
);
