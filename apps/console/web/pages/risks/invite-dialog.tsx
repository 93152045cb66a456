import { useState, type ReactNode } from 'react';
import { Alert, Button, Group, Modal, Stack, Text, TextInput } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { CodeText } from '../../shell/code-text.tsx';
import { dataOf } from '../../shell/console-fetch.ts';
import { quoted } from '../../shell/quoted.ts';
import { Time } from '../../shell/time.tsx';
import { FormDialog } from '../form-dialog.tsx';
import { useOrganization } from './organization.tsx';
import { PEOPLE_REFUSALS, RightsFields, type Rights } from './person-dialog.tsx';
import type { RiskSchemas } from './risk-api.ts';

const NOBODY: Rights = {
  roles: [],
  scope: { unrestricted: false, canReadSensitive: false, departments: [] },
};

interface InviteProps {
  readonly onMade: () => void;
  readonly onClose: () => void;
}

/** Invites by e-mail address, then shows the link to pass on: no mail is sent. */
export function InviteDialog({ onMade, onClose }: InviteProps): ReactNode {
  const { client } = useOrganization();
  const [email, setEmail] = useState('');
  const [rights, setRights] = useState(NOBODY);
  const invite = useMutation({
    mutationFn: () => dataOf(client.POST('/api/people/invitations', { body: { email: email.trim(), ...rights } })),
    onSuccess: onMade,
  });
  if (invite.data !== undefined) return <LinkShown email={email.trim()} made={invite.data} onClose={onClose} />;
  return (
    <FormDialog
      title="Invite somebody"
      action="Invite"
      doing={invite}
      explain={PEOPLE_REFUSALS}
      onSubmit={() => invite.mutate()}
      isReady={email.trim() !== ''}
      onClose={onClose}
    >
      <TextInput
        label="E-mail address"
        description="Their first sign-in with this address, verified, makes them a member; within 14 days."
        type="email"
        required
        maxLength={254}
        value={email}
        data-autofocus
        onChange={(event) => setEmail(event.currentTarget.value)}
      />
      <RightsFields rights={rights} onChange={(change) => setRights({ ...rights, ...change })} />
    </FormDialog>
  );
}

/** Only its button closes it, so that a stray click does not lose the link. */
const LinkShown = ({
  email,
  made: { link, expiresAt },
  onClose,
}: {
  readonly email: string;
  readonly made: RiskSchemas['MadeInvitation'];
  readonly onClose: () => void;
}): ReactNode => (
  <Modal
    opened
    onClose={onClose}
    title={`Invitation of ${quoted(email)}`}
    size="lg"
    closeOnClickOutside={false}
    closeOnEscape={false}
    withCloseButton={false}
  >
    <Stack gap="sm">
      <Alert color="gray" variant="light" title="No mail is sent">
        Copy the link and pass it on. It is no secret: only a sign-in with the verified address accepts the invitation.
      </Alert>
      <CodeText value={link} label="the link" />
      <Text size="sm">
        It ends <Time value={expiresAt} form="day" />.
      </Text>
      <Group justify="flex-end">
        <Button onClick={onClose}>I have copied it</Button>
      </Group>
    </Stack>
  </Modal>
);
