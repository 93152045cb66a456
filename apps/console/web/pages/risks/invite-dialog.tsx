import type { ReactNode } from 'react';
import { Alert, Text, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { api } from '../../shell/api.ts';
import { CodeText } from '../../shell/code-text.tsx';
import { quoted } from '../../shell/quoted.ts';
import { Time } from '../../shell/time.tsx';
import { FormDialog } from '../form-dialog.tsx';
import { filled } from '../form-faults.ts';
import { ShownOnce } from '../shown-once.tsx';
import { useOrganization } from './organization.tsx';
import * as texts from './people-texts.ts';
import { PEOPLE_REFUSALS, RightsFields, type Rights } from './person-dialog.tsx';
import type { RiskSchemas } from './risk-api.ts';

const NOBODY: Rights & { readonly email: string } = {
  email: '',
  roles: [],
  scope: { unrestricted: false, canReadSensitive: false, departments: [] },
};

const faultOfEmail = (email: string): string | null =>
  /^[^@\s]+@[^@\s]+$/.test(email.trim()) ? null : texts.emailFault;

interface InviteProps {
  readonly onMade: () => void;
  readonly onClose: () => void;
}

/** Invites by e-mail address, then shows the link to pass on: no mail is sent. */
export function InviteDialog({ onMade, onClose }: InviteProps): ReactNode {
  const { inOrg } = useOrganization();
  const invite = api.useMutation('post', '/api/risk-partner/api/people/invitations', { onSuccess: onMade });
  const form = useForm({ initialValues: NOBODY, validate: { email: faultOfEmail, roles: filled } });
  if (invite.data !== undefined)
    return <LinkShown email={form.values.email.trim()} made={invite.data} onClose={onClose} />;
  return (
    <FormDialog
      title={texts.inviteSomebody}
      action={texts.invite}
      form={form}
      doing={invite}
      explain={PEOPLE_REFUSALS}
      onSubmit={({ email, ...rights }) => invite.mutate({ ...inOrg, body: { email: email.trim(), ...rights } })}
      onClose={onClose}
    >
      <TextInput
        label={texts.emailAddress}
        description={texts.emailAddressHint}
        type="email"
        required
        maxLength={254}
        data-autofocus
        {...form.getInputProps('email')}
      />
      <RightsFields isRoleRequired roles={form.values.roles} scope={form.values.scope} propsOf={form.getInputProps} />
    </FormDialog>
  );
}

const LinkShown = ({
  email,
  made: { link, expiresAt },
  onClose,
}: {
  readonly email: string;
  readonly made: RiskSchemas['MadeInvitation'];
  readonly onClose: () => void;
}): ReactNode => (
  <ShownOnce title={texts.invitationOf(quoted(email))} onClose={onClose}>
    <Alert color="gray" variant="light" title={texts.noMailIsSent}>
      {texts.noMailIsSentHint}
    </Alert>
    <CodeText value={link} label={texts.copyTheLink} />
    <Text size="sm">{texts.itEnds(<Time value={expiresAt} form="day" />)}</Text>
  </ShownOnce>
);
