import { useState, type ReactNode } from 'react';
import { Button, Checkbox, Group, PasswordInput, Stack, Text, TextInput } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { dataOf } from '../../shell/console-fetch.ts';
import { ProblemView } from '../../shell/problem-view.tsx';
import { quoted } from '../../shell/quoted.ts';
import { ingestAdmin } from '../../shell/surfaces.ts';
import { Time } from '../../shell/time.tsx';
import { FormDialog } from '../form-dialog.tsx';
import type { Source } from './source-presets.ts';

interface SecretsProps {
  readonly source: Source;
  readonly onDone: () => void;
  readonly onClose: () => void;
}

/** Adds a secret, or ends one, which is confirmed: a rotation in two steps, without losing a delivery. */
export function SourceSecrets({ source, onDone, onClose }: SecretsProps): ReactNode {
  const { networkId, sourceId, name } = source;
  const path = { networkId, sourceId };
  const queries = useQueryClient();
  const current = useQuery({
    queryKey: ['source', sourceId],
    queryFn: ({ signal }) =>
      dataOf(ingestAdmin.GET('/admin/v1/networks/{networkId}/sources/{sourceId}', { params: { path }, signal })),
    initialData: source,
  });
  const { secrets } = current.data;
  const [id, setId] = useState('');
  const [value, setValue] = useState('');
  const [ending, setEnding] = useState<string>();
  const change = (next: { id: string; value?: string }[]) =>
    dataOf(
      ingestAdmin.PATCH('/admin/v1/networks/{networkId}/sources/{sourceId}', {
        params: { path },
        body: { secrets: next },
      }),
    );
  const kept = secrets.map((secret) => ({ id: secret.id }));
  const adding = useMutation({ mutationFn: () => change([...kept, { id, value }]), onSuccess: onDone });
  const end = useMutation({
    mutationFn: (old: string) => change(kept.filter((each) => each.id !== old)),
    onSuccess(changed) {
      queries.setQueryData(['source', sourceId], changed);
      void queries.invalidateQueries({ queryKey: ['sources'] });
      setEnding(undefined);
    },
  });
  return (
    <FormDialog
      title={`Secrets of ${quoted(name)}`}
      action="Add the secret"
      doing={adding}
      onSubmit={() => adding.mutate()}
      onClose={onClose}
    >
      <Text size="sm">
        A delivery may be signed with any of them: add the new one, change it at the sender, then end the old one.
      </Text>
      <SecretList secrets={secrets} onEnd={setEnding} />
      {ending !== undefined && (
        <ConfirmEnd
          key={ending}
          id={ending}
          isPending={end.isPending}
          onConfirm={() => end.mutate(ending)}
          onCancel={() => setEnding(undefined)}
        />
      )}
      {end.isError && <ProblemView error={end.error} />}
      <TextInput
        label="Name of the new secret"
        required
        value={id}
        onChange={(event) => setId(event.currentTarget.value)}
      />
      <PasswordInput
        label="New signing secret"
        description="It is kept encrypted and never shown again."
        required
        autoComplete="off"
        value={value}
        onChange={(event) => setValue(event.currentTarget.value)}
      />
    </FormDialog>
  );
}

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
          <strong>{id}</strong>, {isPublic ? 'a public key' : 'live'} since <Time value={createdAt} form="ago" />
        </Text>
        <Button
          size="compact-sm"
          variant="default"
          disabled={secrets.length === 1}
          aria-label={`End the secret ${id}`}
          onClick={() => onEnd(id)}
        >
          End it
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
    <Stack gap="xs" role="group" aria-label={`End the secret ${id}`}>
      <Text size="sm">
        The secret <strong>{id}</strong> ends now: from the next delivery on, what is signed with it is refused.
      </Text>
      <Checkbox
        label="The sender signs with another secret of this list"
        checked={isSure}
        onChange={(event) => setSure(event.currentTarget.checked)}
      />
      <Group gap="xs">
        <Button size="xs" color="red.9" disabled={!isSure} loading={isPending} onClick={onConfirm}>
          End the secret
        </Button>
        <Button size="xs" variant="default" onClick={onCancel}>
          Keep it
        </Button>
      </Group>
    </Stack>
  );
}
