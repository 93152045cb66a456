import type { ReactNode } from 'react';
import { NumberInput, PasswordInput, Select, TextInput } from '@mantine/core';
import { useForm, type UseFormReturnType } from '@mantine/form';
import { api, type Body } from '../../shell/api.ts';
import { FormDialog } from '../form-dialog.tsx';
import { filled } from '../form-faults.ts';
import { commonSignature, HmacFields, isPublicKey, sentSignature } from './hmac-fields.tsx';
import { presets, secretHint, type Preset } from './source-presets.ts';
import * as texts from './source-texts.ts';

/** The sender says how it signs, or where its token is; nothing is known of its delivery ids. */
const isOwn = (preset: Preset): boolean => preset === 'hmac' || preset === 'token';

interface FormProps {
  readonly onDone: () => void;
  readonly onClose: () => void;
}

interface Draft {
  readonly name: string;
  readonly preset: Preset;
  readonly secrets: { readonly id: string; readonly value: string }[];
  readonly channels: string[];
  readonly keepRefusedHours: number;
  /** What the sender of a preset lets one choose about its signature. */
  readonly token: { readonly header: string };
  readonly signature: typeof commonSignature;
  readonly deliveryIdFrom: string;
}

const sentChoices = ({ preset, token, signature, deliveryIdFrom }: Draft) => ({
  ...(preset === 'token' && { token }),
  ...(preset === 'hmac' && { signature: sentSignature(signature) }),
  ...(preset === 'grafana' &&
    signature.timestampHeader !== '' && {
      signature: { timestampHeader: signature.timestampHeader, signed: '{timestamp}:{body}' },
    }),
  ...(isOwn(preset) && deliveryIdFrom !== '' && { deliveryIdFrom }),
});

const bodyOf = (draft: Draft): Body<'/admin/ingest-gateway/admin/v1/networks/{networkId}/sources'> => ({
  name: draft.name,
  preset: draft.preset,
  secrets: draft.secrets,
  channels: draft.channels,
  ...(draft.keepRefusedHours > 0 && { keepRefusedHours: draft.keepRefusedHours }),
  ...sentChoices(draft),
});

function ChoiceFields({ form }: { readonly form: UseFormReturnType<Draft> }): ReactNode {
  const { preset, signature } = form.values;
  return (
    <>
      {preset === 'token' && <TextInput label={texts.header} required {...form.getInputProps('token.header')} />}
      {preset === 'hmac' && (
        <HmacFields value={signature} propsOf={(name) => form.getInputProps(`signature.${name}`)} />
      )}
      {preset === 'grafana' && (
        <TextInput
          label={texts.timestampHeader}
          description={texts.timestampHeaderHint}
          {...form.getInputProps('signature.timestampHeader')}
        />
      )}
      {isOwn(preset) && (
        <TextInput
          label={texts.locationOfTheDeliveryId}
          description={texts.locationOfTheDeliveryIdHint}
          {...form.getInputProps('deliveryIdFrom')}
        />
      )}
    </>
  );
}

const useSourceForm = (channels: readonly string[]) =>
  useForm<Draft>({
    initialValues: {
      name: '',
      preset: 'github',
      secrets: [{ id: 'first', value: '' }],
      channels: channels.slice(0, 1),
      keepRefusedHours: 0,
      token: { header: 'X-Webhook-Token' },
      signature: commonSignature,
      deliveryIdFrom: '',
    },
    validate: {
      name: filled,
      secrets: { value: filled },
      token: { header: (header, { preset }) => (preset === 'token' ? filled(header) : null) },
      signature: {
        header: (header, { preset }) => (preset === 'hmac' ? filled(header) : null),
        signed: (signed, { preset }) => (preset === 'hmac' ? filled(signed) : null),
      },
    },
  });

/** Creates a webhook source. */
export function SourceForm({
  networkId,
  channels,
  onDone,
  onClose,
}: FormProps & { readonly networkId: string; readonly channels: readonly string[] }): ReactNode {
  const making = api.useMutation('post', '/admin/ingest-gateway/admin/v1/networks/{networkId}/sources', {
    onSuccess: onDone,
  });
  const form = useSourceForm(channels);
  const { preset, signature } = form.values;
  return (
    <FormDialog
      title={texts.newSource}
      action={texts.createSource}
      form={form}
      doing={making}
      onSubmit={(draft) => making.mutate({ params: { path: { networkId } }, body: bodyOf(draft) })}
      onClose={onClose}
    >
      <TextInput label={texts.name} required maxLength={200} {...form.getInputProps('name')} />
      <Select label={texts.sender} searchable data={presets} allowDeselect={false} {...form.getInputProps('preset')} />
      <ChoiceFields form={form} />
      <PasswordInput
        label={texts.signingSecret}
        description={texts.signingSecretHint(secretHint(preset, preset === 'hmac' && isPublicKey(signature)))}
        required
        autoComplete="off"
        {...form.getInputProps('secrets.0.value')}
      />
      <Select label={texts.channel} allowDeselect={false} data={[...channels]} {...form.getInputProps('channels.0')} />
      <NumberInput
        label={texts.keepRefusedDeliveriesHours}
        description={texts.keepRefusedDeliveriesHoursHint}
        min={0}
        max={72}
        {...form.getInputProps('keepRefusedHours')}
      />
    </FormDialog>
  );
}
