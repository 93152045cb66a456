import { useState, type ReactNode } from 'react';
import { Group, NumberInput, TagsInput, Text, TextInput } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import type { Schemas } from '@sealgate/client';
import { dataOf } from '../../shell/console-fetch.ts';
import { ingestAdmin } from '../../shell/surfaces.ts';
import { FormDialog } from '../form-dialog.tsx';

export type Network = Schemas['ingestGatewayAdmin']['Network'];

interface NetworkFormProps {
  /** Absent: creates a new network. */
  readonly network?: Network;
  readonly onSaved: (network: Network) => void;
  readonly onClose: () => void;
}

/** Creates a network, or changes name, channels and limits of one. */
export function NetworkForm({ network, onSaved, onClose }: NetworkFormProps): ReactNode {
  const [networkId, setNetworkId] = useState(network?.networkId ?? '');
  const [name, setName] = useState(network?.name ?? '');
  const [channels, setChannels] = useState<string[]>(network?.channels ?? ['main']);
  const [rate, setRate] = useState<string | number>(network?.limits.ratePerSecond ?? 1_000);
  const [burst, setBurst] = useState<string | number>(network?.limits.burst ?? 2_000);
  const limits = { ratePerSecond: Number(rate), burst: Number(burst) };
  const saving = useMutation({
    mutationFn: () =>
      network === undefined
        ? dataOf(
            ingestAdmin.POST('/admin/v1/networks', {
              body: { networkId, channels, limits, ...(name !== '' && { name }) },
            }),
          )
        : dataOf(
            ingestAdmin.PATCH('/admin/v1/networks/{networkId}', {
              params: { path: { networkId } },
              body: { name: name === '' ? null : name, channels, limits },
            }),
          ),
    onSuccess: (saved) => {
      onClose();
      onSaved(saved);
    },
  });
  return (
    <FormDialog
      title={network === undefined ? 'New network' : `Change ${network.networkId}`}
      action={network === undefined ? 'Create network' : 'Save'}
      doing={saving}
      onSubmit={() => saving.mutate()}
      onClose={onClose}
    >
      {network === undefined && (
        <TextInput
          label="Id"
          description="Lower-case letters, digits and dashes. It is part of every address and never changes."
          required
          pattern="[a-z0-9][a-z0-9\-]{1,62}"
          autoComplete="off"
          value={networkId}
          onChange={(event) => setNetworkId(event.currentTarget.value)}
        />
      )}
      <TextInput
        label="Name"
        description="For people; may be left out."
        maxLength={200}
        value={name}
        onChange={(event) => setName(event.currentTarget.value)}
      />
      <TagsInput
        label="Channels"
        description="Each is a log of its own. The first is the default. Press Enter after each name."
        required={channels.length === 0}
        maxTags={64}
        value={channels}
        onChange={setChannels}
      />
      <LimitFields rate={rate} burst={burst} onRate={setRate} onBurst={setBurst} />
    </FormDialog>
  );
}

interface LimitProps {
  readonly rate: string | number;
  readonly burst: string | number;
  readonly onRate: (rate: string | number) => void;
  readonly onBurst: (burst: string | number) => void;
}

const LIMIT_MAX = 1_000_000;

const LimitFields = ({ rate, burst, onRate, onBurst }: LimitProps): ReactNode => (
  <>
    <Group grow align="flex-start">
      <NumberInput label="Records per second" required min={1} max={LIMIT_MAX} value={rate} onChange={onRate} />
      <NumberInput label="Burst of records" required min={1} max={LIMIT_MAX} value={burst} onChange={onBurst} />
    </Group>
    <Text size="xs" c="dimmed">
      These are limits of the whole network; a key may have narrower ones.
    </Text>
  </>
);
