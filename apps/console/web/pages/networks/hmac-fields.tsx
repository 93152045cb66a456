import type { ReactNode } from 'react';
import { Group, Select, TextInput } from '@mantine/core';
import type { Schemas } from '@sealgate/client';

type Signature = Schemas['ingestGatewayAdmin']['SourceSignature'];

/** The fields of the form; a text that is empty is left out. */
interface SignatureFields {
  readonly header: string;
  readonly algorithm: NonNullable<Signature['algorithm']>;
  readonly encoding: NonNullable<Signature['encoding']>;
  readonly prefix: string;
  readonly signed: string;
  readonly signatureMember: string;
  readonly separator: NonNullable<Signature['separator']>;
  readonly timestampHeader: string;
  readonly timestampMember: string;
  readonly timestampFormat: NonNullable<Signature['timestampFormat']>;
  readonly secretEncoding: NonNullable<Signature['secretEncoding']>;
}

/** The most common custom signature. */
export const commonSignature: SignatureFields = {
  header: 'X-Signature',
  algorithm: 'sha256',
  encoding: 'hex',
  prefix: '',
  signed: '{body}',
  signatureMember: '',
  separator: ',',
  timestampHeader: '',
  timestampMember: '',
  timestampFormat: 'seconds',
  secretEncoding: 'text',
};

export const isPublicKey = ({ algorithm }: SignatureFields): boolean => !algorithm.startsWith('sha');

/** Without the fields that do not apply, which the service refuses. */
export function sentSignature(fields: SignatureFields): Signature {
  const { header, algorithm, encoding, prefix, signed, signatureMember, timestampHeader, timestampMember } = fields;
  return {
    header,
    algorithm,
    encoding,
    signed,
    ...(prefix !== '' && { prefix }),
    ...(signatureMember !== '' && { signatureMember, separator: fields.separator }),
    ...(signatureMember !== '' && timestampMember !== '' && { timestampMember }),
    ...(timestampHeader !== '' && { timestampHeader }),
    ...(signed.includes('{timestamp}') && { timestampFormat: fields.timestampFormat }),
    ...(!isPublicKey(fields) && { secretEncoding: fields.secretEncoding }),
  };
}

interface HmacFieldsProps {
  readonly value: SignatureFields;
  /** The props of the input of a member. */
  readonly propsOf: (name: keyof SignatureFields) => object;
}

/** The parameters of a custom signature. */
export function HmacFields({ value, propsOf }: HmacFieldsProps): ReactNode {
  const text = (
    name: 'header' | 'prefix' | 'signed' | 'signatureMember' | 'timestampHeader' | 'timestampMember',
    about: { readonly label: string; readonly description?: string; readonly placeholder?: string },
  ): ReactNode => <TextInput {...about} required={name === 'header' || name === 'signed'} {...propsOf(name)} />;
  const choice = <Name extends 'algorithm' | 'encoding' | 'separator' | 'timestampFormat' | 'secretEncoding'>(
    name: Name,
    label: string,
    data: readonly { readonly value: SignatureFields[Name]; readonly label: string }[],
  ): ReactNode => <Select label={label} data={data} allowDeselect={false} {...propsOf(name)} />;
  return (
    <>
      {text('header', { label: 'Signature header' })}
      <Group grow align="end">
        {choice('algorithm', 'Algorithm', [
          { value: 'sha256', label: 'HMAC-SHA256' },
          { value: 'sha512', label: 'HMAC-SHA512' },
          { value: 'sha1', label: 'HMAC-SHA1' },
          { value: 'ed25519', label: 'Ed25519' },
          { value: 'ecdsa-p256', label: 'ECDSA P-256' },
        ])}
        {choice('encoding', 'Written as', [
          { value: 'hex', label: 'hex' },
          { value: 'base64', label: 'base64' },
        ])}
        {text('prefix', { label: 'Prefix', placeholder: 'sha256=' })}
      </Group>
      {text('signed', {
        label: 'What is signed',
        description: 'Literals and {body}, {timestamp}, {id}, {url}, {method}: for example {timestamp}.{body}',
      })}
      <Group grow align="end">
        {text('signatureMember', {
          label: 'Member with the signature',
          description: 'Where the header is a list: v1 in t=1,v1=2',
        })}
        {value.signatureMember !== '' &&
          choice('separator', 'Separator', [
            { value: ',', label: 'comma' },
            { value: ';', label: 'semicolon' },
            { value: ' ', label: 'space' },
          ])}
      </Group>
      {value.signed.includes('{timestamp}') && (
        <Group grow align="end">
          {value.signatureMember !== '' && text('timestampMember', { label: 'Member with the timestamp' })}
          {text('timestampHeader', { label: 'Timestamp header' })}
          {choice('timestampFormat', 'Timestamp in', [
            { value: 'seconds', label: 'seconds' },
            { value: 'milliseconds', label: 'milliseconds' },
            { value: 'rfc3339', label: 'date and time (RFC 3339)' },
          ])}
        </Group>
      )}
      {!isPublicKey(value) &&
        choice('secretEncoding', 'The secret is', [
          { value: 'text', label: 'a text' },
          { value: 'hex', label: 'bytes in hex' },
          { value: 'base64', label: 'bytes in base64' },
        ])}
    </>
  );
}
