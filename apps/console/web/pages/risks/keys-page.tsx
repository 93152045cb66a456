import { useState, type ReactNode } from 'react';
import { Select, TextInput } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { dataOf } from '../../shell/console-fetch.ts';
import { Page } from '../../shell/page.tsx';
import { FormDialog } from '../form-dialog.tsx';
import { useKeysPanel } from '../keys-panel.tsx';
import { useOrganization } from './organization.tsx';
import type { RiskSchemas } from './risk-api.ts';

type Key = RiskSchemas['Key'];

/** How long a rotated key stays valid. */
const OVERLAPS = [
  { value: '0', label: 'Not at all' },
  { value: '3600', label: 'One hour' },
  { value: '86400', label: 'One day' },
  { value: '604800', label: 'Seven days' },
];

/** The person's own keys: mint, rotate, revoke. */
export function KeysPage(): ReactNode {
  const { id: orgId, client, may } = useOrganization();
  const { button, panel } = useKeysPanel<Key, RiskSchemas['MintedKey']>({
    label: 'My keys',
    queryKey: ['risks', orgId, 'keys'],
    load: async () => ({ items: await dataOf(client.GET('/api/api-keys')) }),
    may: { mint: may('apiKey:create'), revoke: may('apiKey:delete') },
    mintTitle: 'New key',
    emptyText: 'Make one for a program that acts for you.',
    dialog: (props) => <MintDialog {...props} />,
    curlOf: (key) => `curl -H "Authorization: Bearer ${key}" "$RISK_PARTNER_URL/api/risks?limit=5"`,
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

function MintDialog({
  replaced,
  onMinted,
  onClose,
}: {
  readonly replaced: Key | undefined;
  readonly onMinted: (minted: RiskSchemas['MintedKey']) => void;
  readonly onClose: () => void;
}): ReactNode {
  const { client } = useOrganization();
  const [label, setLabel] = useState(replaced?.label ?? '');
  const [overlap, setOverlap] = useState('86400');
  const mint = useMutation({
    mutationFn: () =>
      dataOf(
        client.POST('/api/api-keys', {
          body: { label, ...(replaced !== undefined && { replaces: replaced.id, overlapSeconds: Number(overlap) }) },
        }),
      ),
    onSuccess: onMinted,
  });
  return (
    <FormDialog
      title={replaced === undefined ? 'New key' : 'Rotate the key'}
      action={replaced === undefined ? 'Create key' : 'Rotate'}
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
      {replaced !== undefined && (
        <Select
          label="The old key stays valid for"
          data={OVERLAPS}
          allowDeselect={false}
          value={overlap}
          onChange={(value) => setOverlap(value ?? '0')}
        />
      )}
    </FormDialog>
  );
}
