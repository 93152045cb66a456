import type { ReactNode } from 'react';
import { Group, NumberInput, TagsInput, Text, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import type { Schemas } from '@sealgate/client';
import { api } from '../../shell/api.ts';
import { FormDialog } from '../form-dialog.tsx';
import { filled } from '../form-faults.ts';
import * as texts from './texts.ts';

export type Network = Schemas['ingestGatewayAdmin']['Network'];

interface NetworkFormProps {
  /** Absent: creates a new network. */
  readonly network?: Network;
  readonly onSaved: (network: Network) => void;
  readonly onClose: () => void;
}

const LIMIT_MAX = 1_000_000;

const limitOf = (value: number): string | null =>
  Number.isInteger(value) && value >= 1 && value <= LIMIT_MAX ? null : texts.limitFault;

const useNetworkForm = (network: Network | undefined) =>
  useForm({
    initialValues: {
      networkId: network?.networkId ?? '',
      name: network?.name ?? '',
      channels: network?.channels ?? ['main'],
      limits: network?.limits ?? { ratePerSecond: 1_000, burst: 2_000 },
    },
    validate: {
      networkId: (id) => (/^[a-z0-9][a-z0-9-]{1,62}$/.test(id) ? null : texts.idFault),
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
      title={network === undefined ? texts.newNetwork : texts.changeNamed(network.networkId)}
      action={network === undefined ? texts.createNetwork : texts.save}
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
          label={texts.id}
          description={texts.idHint}
          required
          autoComplete="off"
          {...form.getInputProps('networkId')}
        />
      )}
      <TextInput label={texts.name} description={texts.nameHint} maxLength={200} {...form.getInputProps('name')} />
      <TagsInput
        label={texts.channels}
        description={texts.channelsHint}
        required
        maxTags={64}
        {...form.getInputProps('channels')}
      />
      <Group grow align="flex-start">
        <NumberInput
          label={texts.recordsPerSecond}
          required
          min={1}
          max={LIMIT_MAX}
          {...form.getInputProps('limits.ratePerSecond')}
        />
        <NumberInput
          label={texts.burstOfRecords}
          required
          min={1}
          max={LIMIT_MAX}
          {...form.getInputProps('limits.burst')}
        />
      </Group>
      <Text size="xs" c="dimmed">
        {texts.limitsHint}
      </Text>
    </FormDialog>
  );
}
