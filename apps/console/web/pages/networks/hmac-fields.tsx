import type { ReactNode } from 'react';
import { Checkbox, Group, Select, TextInput } from '@mantine/core';
import type { Schemas } from '@sealgate/client';

type Signature = Schemas['ingestGatewayAdmin']['SourceSignature'];

/** The most common custom scheme. */
export const commonSignature: Signature = {
  header: 'X-Signature',
  algorithm: 'sha256',
  encoding: 'hex',
  prefix: '',
  signed: 'body',
  timestampHeader: 'X-Timestamp',
};

/** The timestamp header is sent only if it is signed; otherwise the service refuses it. */
export function sentSignature({ timestampHeader, ...signature }: Signature): Signature {
  return signature.signed === 'body' || timestampHeader === undefined ? signature : { ...signature, timestampHeader };
}

interface HmacFieldsProps {
  readonly value: Signature;
  readonly onChange: (next: Signature) => void;
}

/** The parameters of a custom signature scheme. */
export function HmacFields({ value, onChange }: HmacFieldsProps): ReactNode {
  const change = (next: Partial<Signature>): void => onChange({ ...value, ...next });
  return (
    <>
      <TextInput
        label="Signature header"
        required
        value={value.header}
        onChange={(event) => change({ header: event.currentTarget.value })}
      />
      <Group grow align="end">
        <Select
          label="Algorithm"
          data={['sha256', 'sha512', 'sha1'] as const}
          allowDeselect={false}
          value={value.algorithm}
          onChange={(algorithm) => change({ algorithm: algorithm ?? 'sha256' })}
        />
        <Select
          label="Written as"
          data={['hex', 'base64'] as const}
          allowDeselect={false}
          value={value.encoding}
          onChange={(encoding) => change({ encoding: encoding ?? 'hex' })}
        />
        <TextInput
          label="Prefix"
          placeholder="sha256="
          value={value.prefix ?? ''}
          onChange={(event) => change({ prefix: event.currentTarget.value })}
        />
      </Group>
      <Checkbox
        label="A timestamp is signed before the body"
        checked={value.signed === 'timestamp.body'}
        onChange={(event) => change({ signed: event.currentTarget.checked ? 'timestamp.body' : 'body' })}
      />
      {value.signed === 'timestamp.body' && (
        <TextInput
          label="Timestamp header"
          required
          value={value.timestampHeader ?? ''}
          onChange={(event) => change({ timestampHeader: event.currentTarget.value })}
        />
      )}
    </>
  );
}
