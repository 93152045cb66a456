import { useState, type ReactNode } from 'react';
import { NumberInput, PasswordInput, Select, TextInput } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { dataOf } from '../../shell/console-fetch.ts';
import { ingestAdmin } from '../../shell/surfaces.ts';
import { FormDialog } from '../form-dialog.tsx';
import { commonSignature, HmacFields, isPublicKey, sentSignature } from './hmac-fields.tsx';
import { presets, secretHint, type Preset } from './source-presets.ts';

/** The sender says how it signs, or where its token is; nothing is known of its delivery ids. */
const isOwn = (preset: Preset): boolean => preset === 'hmac' || preset === 'token';

interface FormProps {
  readonly onDone: () => void;
  readonly onClose: () => void;
}

/** What the sender of a preset lets one choose about its signature. */
const commonChoices = {
  header: 'X-Webhook-Token',
  signature: commonSignature,
  deliveryIdFrom: '',
  timestampHeader: '',
};
type Choices = typeof commonChoices;

const sentChoices = (preset: Preset, { header, signature, deliveryIdFrom, timestampHeader }: Choices) => ({
  ...(preset === 'token' && { token: { header } }),
  ...(preset === 'hmac' && { signature: sentSignature(signature) }),
  ...(preset === 'grafana' &&
    timestampHeader !== '' && { signature: { timestampHeader, signed: '{timestamp}:{body}' } }),
  ...(isOwn(preset) && deliveryIdFrom !== '' && { deliveryIdFrom }),
});

interface ChoiceFieldsProps {
  readonly preset: Preset;
  readonly value: Choices;
  readonly onChange: (value: Choices) => void;
}

function ChoiceFields({ preset, value, onChange }: ChoiceFieldsProps): ReactNode {
  return (
    <>
      {preset === 'token' && (
        <TextInput
          label="Header"
          required
          value={value.header}
          onChange={(event) => onChange({ ...value, header: event.currentTarget.value })}
        />
      )}
      {preset === 'hmac' && (
        <HmacFields value={value.signature} onChange={(signature) => onChange({ ...value, signature })} />
      )}
      {preset === 'grafana' && (
        <TextInput
          label="Timestamp header"
          description="The one chosen in the contact point; empty where it has none."
          value={value.timestampHeader}
          onChange={(event) => onChange({ ...value, timestampHeader: event.currentTarget.value })}
        />
      )}
      {isOwn(preset) && (
        <TextInput
          label="Location of the delivery id"
          description="header:X-Delivery-Id, or /id in a JSON body. Without it, identical bodies are accepted only once."
          value={value.deliveryIdFrom}
          onChange={(event) => onChange({ ...value, deliveryIdFrom: event.currentTarget.value })}
        />
      )}
    </>
  );
}

/** Creates a webhook source. */
export function SourceForm({
  networkId,
  channels,
  onDone,
  onClose,
}: FormProps & { readonly networkId: string; readonly channels: readonly string[] }): ReactNode {
  const [name, setName] = useState('');
  const [preset, setPreset] = useState<Preset>('github');
  const [secret, setSecret] = useState('');
  const [channel, setChannel] = useState<string | null>(channels[0] ?? null);
  const [keptHours, setKeptHours] = useState<string | number>(0);
  const [choices, setChoices] = useState(commonChoices);
  const making = useMutation({
    mutationFn: () =>
      dataOf(
        ingestAdmin.POST('/admin/v1/networks/{networkId}/sources', {
          params: { path: { networkId } },
          body: {
            name,
            preset,
            secrets: [{ id: 'first', value: secret }],
            ...(channel !== null && { channels: [channel] }),
            ...(Number(keptHours) > 0 && { keepRefusedHours: Number(keptHours) }),
            ...sentChoices(preset, choices),
          },
        }),
      ),
    onSuccess: onDone,
  });
  return (
    <FormDialog
      title="New source"
      action="Create source"
      doing={making}
      onSubmit={() => making.mutate()}
      onClose={onClose}
    >
      <TextInput
        label="Name"
        required
        maxLength={200}
        value={name}
        onChange={(event) => setName(event.currentTarget.value)}
      />
      <Select
        label="Sender"
        searchable
        data={presets}
        allowDeselect={false}
        value={preset}
        onChange={(value) => setPreset(value ?? 'github')}
      />
      <ChoiceFields preset={preset} value={choices} onChange={setChoices} />
      <PasswordInput
        label="Signing secret"
        description={`${secretHint(preset, preset === 'hmac' && isPublicKey(choices.signature))} It is kept encrypted and never shown again.`}
        required
        autoComplete="off"
        value={secret}
        onChange={(event) => setSecret(event.currentTarget.value)}
      />
      <Select label="Channel" data={[...channels]} value={channel} onChange={setChannel} />
      <NumberInput
        label="Keep refused deliveries (hours)"
        description="Encrypted, to look at and to process again. 0: not at all; at most 72."
        min={0}
        max={72}
        value={keptHours}
        onChange={setKeptHours}
      />
    </FormDialog>
  );
}
