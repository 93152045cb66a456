import { useState, type ReactNode } from 'react';
import { TextInput } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { dataOf } from '../../shell/console-fetch.ts';
import { Page } from '../../shell/page.tsx';
import { usePublicUrl } from '../../shell/session.ts';
import { FormDialog } from '../form-dialog.tsx';
import { useKeysPanel, type MintProps } from '../keys-panel.tsx';
import { useRotationTerms } from '../rotation-terms.tsx';
import { useOrganization } from './organization.tsx';
import type { RiskSchemas } from './risk-api.ts';

type Key = RiskSchemas['Key'];

/** The person's own keys: mint, rotate, revoke. */
export function KeysPage(): ReactNode {
  const { id: orgId, client, may } = useOrganization();
  const address = usePublicUrl('risk-partner', 'https://YOUR-RISK-PARTNER');
  const { button, panel } = useKeysPanel<Key, RiskSchemas['MintedKey']>({
    label: 'My keys',
    queryKey: ['risks', orgId, 'keys'],
    load: async () => ({ items: await dataOf(client.GET('/api/api-keys')) }),
    may: { mint: may('apiKey:create'), revoke: may('apiKey:delete') },
    mintTitle: 'New key',
    emptyText: 'Make one for a program that acts for you.',
    dialog: (props) => <MintDialog {...props} />,
    curlOf: ({ rawKey }) => `curl -sS '${address}/api/risks?limit=5' -H 'Authorization: Bearer ${rawKey}'`,
    revoke: ({ id }) => dataOf(client.DELETE('/api/api-keys/{id}', { params: { path: { id } } })),
    revokedText: 'Whatever uses it is refused from the next request on.',
  });
  return (
    <Page
      title="My keys"
      intro="A key may do what you may in this organisation, by REST and by tools. It is shown once, when it is made."
      actions={button}
    >
      {panel}
    </Page>
  );
}

function MintDialog({ replaced, isLeaked, onMinted, onClose }: MintProps<Key, RiskSchemas['MintedKey']>): ReactNode {
  const rotation = useRotationTerms(isLeaked);
  const { client } = useOrganization();
  const [label, setLabel] = useState(replaced?.label ?? '');
  const mint = useMutation({
    mutationFn: () =>
      dataOf(
        client.POST('/api/api-keys', {
          body: {
            label,
            ...(replaced !== undefined && { replaces: replaced.id, overlapSeconds: rotation.overlapSeconds }),
          },
        }),
      ),
    onSuccess: onMinted,
  });
  return (
    <FormDialog
      title={replaced === undefined ? 'New key' : 'Rotate the key'}
      action={replaced === undefined ? 'Create key' : rotation.isLeaked ? 'End it and create another' : 'Rotate'}
      {...(replaced !== undefined && rotation.isLeaked && { tone: 'danger' })}
      doing={mint}
      onSubmit={() => mint.mutate()}
      isReady={label.trim() !== ''}
      onClose={onClose}
    >
      <TextInput
        label="Label"
        description="What uses the key."
        required
        maxLength={100}
        value={label}
        onChange={(event) => setLabel(event.currentTarget.value)}
        data-autofocus
      />
      {replaced !== undefined && rotation.fields}
    </FormDialog>
  );
}
