import type { ReactNode } from 'react';
import { Group, NumberInput, TagsInput, Text, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import type { Schemas } from '@sealgate/client';
import { api } from '../../shell/api.ts';
import { FormDialog } from '../form-dialog.tsx';
import { filled } from '../form-faults.ts';

export type Network = Schemas['ingestGatewayAdmin']['Network'];

interface NetworkFormProps {
  /** Absent: creates a new network. */
  readonly network?: Network;
  readonly onSaved: (network: Network) => void;
  readonly onClose: () => void;
}

const LIMIT_MAX = 1_000_000;

const limitOf = (value: number): string | null =>
  Number.isInteger(value) && value >= 1 && value <= LIMIT_MAX ? null : 'A whole number from 1 to 1,000,000.';

const useNetworkForm = (network: Network | undefined) =>
  useForm({
    initialValues: {
      networkId: network?.networkId ?? '',
      name: network?.name ?? '',
      channels: network?.channels ?? ['main'],
      limits: network?.limits ?? { ratePerSecond: 1_000, burst: 2_000 },
    },
    validate: {
      networkId: (id) => (/^[a-z0-9][a-z0-9-]{1,62}$/.test(id) ? null : 'Lower-case letters, digits and dashes.'),
      channels: filled,
      limits: { ratePerSecond: limitOf, burst: limitOf },
    },
  });

/** Creates a network, or changes name, channels and limits of one. */
export function NetworkForm({ network, onSaved, onClose }: NetworkFormProps): ReactNode {
  const saved = {
    onSuccess(network: Network) {
      onClose();
      onSaved(network);
    },
  };
  const make = api.useMutation('post', '/admin/ingest-gateway/admin/v1/networks', saved);
  const change = api.useMutation('patch', '/admin/ingest-gateway/admin/v1/networks/{networkId}', saved);
  const form = useNetworkForm(network);
  return (
    <FormDialog
      title={network === undefined ? 'New network' : `Change ${network.networkId}`}
      action={network === undefined ? 'Create network' : 'Save'}
      form={form}
      doing={network === undefined ? make : change}
      onSubmit={({ networkId, name, ...rest }) =>
        network === undefined
          ? make.mutate({ body: { networkId, ...rest, ...(name !== '' && { name }) } })
          : change.mutate({ params: { path: { networkId } }, body: { name: name === '' ? null : name, ...rest } })
      }
      onClose={onClose}
    >
      {network === undefined && (
        <TextInput
          label="Id"
          description="Lower-case letters, digits and dashes. It is part of every address and never changes."
          required
          autoComplete="off"
          {...form.getInputProps('networkId')}
        />
      )}
      <TextInput
        label="Name"
        description="For people; may be left out."
        maxLength={200}
        {...form.getInputProps('name')}
      />
      <TagsInput
        label="Channels"
        description="Each is a log of its own. The first is the default. Press Enter after each name."
        required
        maxTags={64}
        {...form.getInputProps('channels')}
      />
      <Group grow align="flex-start">
        <NumberInput
          label="Records per second"
          required
          min={1}
          max={LIMIT_MAX}
          {...form.getInputProps('limits.ratePerSecond')}
        />
        <NumberInput
          label="Burst of records"
          required
          min={1}
          max={LIMIT_MAX}
          {...form.getInputProps('limits.burst')}
        />
      </Group>
      <Text size="xs" c="dimmed">
        These are limits of the whole network; a key may have narrower ones.
      </Text>
    </FormDialog>
  );
}
