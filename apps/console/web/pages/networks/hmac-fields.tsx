import type { ReactNode } from 'react';
import { Group, Select, TextInput } from '@mantine/core';
import type { Schemas } from '@sealgate/client';
import * as texts from './source-texts.ts';

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
      {text('header', { label: texts.signatureHeader })}
      <Group grow align="end">
        {choice('algorithm', texts.algorithm, [
          { value: 'sha256', label: texts.hmacSha256 },
          { value: 'sha512', label: texts.hmacSha512 },
          { value: 'sha1', label: texts.hmacSha1 },
          { value: 'ed25519', label: texts.ed25519 },
          { value: 'ecdsa-p256', label: texts.ecdsaP256 },
        ])}
        {choice('encoding', texts.writtenAs, [
          { value: 'hex', label: texts.hex },
          { value: 'base64', label: texts.base64 },
        ])}
        {text('prefix', { label: texts.prefix, placeholder: texts.prefixExample })}
      </Group>
      {text('signed', {
        label: texts.whatIsSigned,
        description: texts.whatIsSignedHint,
      })}
      <Group grow align="end">
        {text('signatureMember', {
          label: texts.memberWithTheSignature,
          description: texts.memberWithTheSignatureHint,
        })}
        {value.signatureMember !== '' &&
          choice('separator', texts.separator, [
            { value: ',', label: texts.comma },
            { value: ';', label: texts.semicolon },
            { value: ' ', label: texts.space },
          ])}
      </Group>
      {value.signed.includes('{timestamp}') && (
        <Group grow align="end">
          {value.signatureMember !== '' && text('timestampMember', { label: texts.memberWithTheTimestamp })}
          {text('timestampHeader', { label: texts.timestampHeader })}
          {choice('timestampFormat', texts.timestampIn, [
            { value: 'seconds', label: texts.seconds },
            { value: 'milliseconds', label: texts.milliseconds },
            { value: 'rfc3339', label: texts.dateAndTimeRfc3339 },
          ])}
        </Group>
      )}
      {!isPublicKey(value) &&
        choice('secretEncoding', texts.theSecretIs, [
          { value: 'text', label: texts.aText },
          { value: 'hex', label: texts.bytesInHex },
          { value: 'base64', label: texts.bytesInBase64 },
        ])}
    </>
  );
}
