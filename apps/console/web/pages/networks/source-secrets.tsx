import { useState, type ReactNode } from 'react';
import { Alert, Button, Checkbox, Group, PasswordInput, Stack, Text, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { api, useReload } from '../../shell/api.ts';
import { ProblemView } from '../../shell/problem-view.tsx';
import { quoted } from '../../shell/quoted.ts';
import { Time } from '../../shell/time.tsx';
import { FormDialog } from '../form-dialog.tsx';
import { filled } from '../form-faults.ts';
import { sourceQuery, type Source } from './source-presets.ts';
import * as texts from './source-texts.ts';

interface SecretsProps {
  readonly source: Source;
  readonly onClose: () => void;
}

/** What was done last. */
interface Done {
  readonly what: 'added' | 'ended';
  readonly id: string;
}

/** Adds a secret, or ends one, which is confirmed: a rotation in two steps, without losing a delivery. */
export function SourceSecrets({ source, onClose }: SecretsProps): ReactNode {
  const { networkId, sourceId, name } = source;
  const params = { path: { networkId, sourceId } };
  const queries = useQueryClient();
  const reload = useReload();
  const query = sourceQuery(source);
  const { secrets } = useQuery({ ...query, initialData: source }).data;
  const kept = secrets.map(({ id }) => ({ id }));
  const [ending, setEnding] = useState<string>();
  const [done, setDone] = useState<Done>();
  const finish = (changed: Source, said: Done): void => {
    queries.setQueryData(query.queryKey, changed);
    void reload('/admin/ingest-gateway/admin/v1/networks');
    setDone(said);
  };
  const form = useForm({ initialValues: { id: '', value: '' }, validate: { id: filled, value: filled } });
  const adding = api.useMutation('patch', '/admin/ingest-gateway/admin/v1/networks/{networkId}/sources/{sourceId}', {
    onSuccess(changed) {
      finish(changed, { what: 'added', id: form.values.id });
      form.reset();
    },
  });
  const end = api.useMutation('patch', '/admin/ingest-gateway/admin/v1/networks/{networkId}/sources/{sourceId}', {
    onSuccess(changed) {
      finish(changed, { what: 'ended', id: ending! });
      setEnding(undefined);
    },
  });
  return (
    <FormDialog
      title={texts.secretsOf(quoted(name))}
      action={texts.addTheSecret}
      closing={texts.close}
      form={form}
      part={`/secrets/${kept.length}`}
      doing={adding}
      onSubmit={(secret) => adding.mutate({ params, body: { secrets: [...kept, secret] } })}
      onClose={onClose}
    >
      <Text size="sm">{texts.secretsHint}</Text>
      <div role="status">{done !== undefined && <Said done={done} />}</div>
      <SecretList secrets={secrets} onEnd={setEnding} />
      {ending !== undefined && (
        <ConfirmEnd
          key={ending}
          id={ending}
          isPending={end.isPending}
          onConfirm={() => end.mutate({ params, body: { secrets: kept.filter(({ id }) => id !== ending) } })}
          onCancel={() => setEnding(undefined)}
        />
      )}
      {end.isError && <ProblemView error={end.error} />}
      <TextInput label={texts.nameOfTheNewSecret} required {...form.getInputProps('id')} />
      <PasswordInput
        label={texts.newSigningSecret}
        description={texts.newSigningSecretHint}
        required
        autoComplete="off"
        {...form.getInputProps('value')}
      />
    </FormDialog>
  );
}

const Said = ({ done: { what, id } }: { readonly done: Done }): ReactNode => (
  <Alert
    color="green"
    variant="light"
    title={what === 'added' ? texts.theSecretWasAdded(quoted(id)) : texts.theSecretWasEnded(quoted(id))}
  >
    {what === 'added' ? texts.secretAddedHint : texts.secretEndedHint}
  </Alert>
);

const SecretList = ({
  secrets,
  onEnd,
}: {
  readonly secrets: Source['secrets'];
  readonly onEnd: (id: string) => void;
}): ReactNode => (
  <Stack gap="xs">
    {secrets.map(({ id, isPublic, createdAt }) => (
      <Group key={id} justify="space-between">
        <Text size="sm" className="wrap">
          {isPublic
            ? texts.aPublicKeySince(<strong>{id}</strong>, <Time value={createdAt} form="ago" />)
            : texts.liveSince(<strong>{id}</strong>, <Time value={createdAt} form="ago" />)}
        </Text>
        <Button
          size="compact-sm"
          variant="default"
          disabled={secrets.length === 1}
          aria-label={texts.endNamedSecret(id)}
          onClick={() => onEnd(id)}
        >
          {texts.endIt}
        </Button>
      </Group>
    ))}
  </Stack>
);

function ConfirmEnd({
  id,
  isPending,
  onConfirm,
  onCancel,
}: {
  readonly id: string;
  readonly isPending: boolean;
  readonly onConfirm: () => void;
  readonly onCancel: () => void;
}): ReactNode {
  const [isSure, setSure] = useState(false);
  return (
    <Stack gap="xs" role="group" aria-label={texts.endNamedSecret(id)}>
      <Text size="sm">{texts.theSecretEndsNow(<strong>{id}</strong>)}</Text>
      <Checkbox
        label={texts.anotherSecretIsInUse}
        checked={isSure}
        onChange={(event) => setSure(event.currentTarget.checked)}
      />
      <Group gap="xs">
        <Button size="xs" color="red.9" disabled={!isSure} loading={isPending} onClick={onConfirm}>
          {texts.endTheSecret}
        </Button>
        <Button size="xs" variant="default" onClick={onCancel}>
          {texts.keepIt}
        </Button>
      </Group>
    </Stack>
  );
}
