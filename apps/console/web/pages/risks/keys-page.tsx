import type { ReactNode } from 'react';
import { TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { api, listed, server } from '../../shell/api.ts';
import { Page } from '../../shell/page.tsx';
import { usePublicUrl } from '../../shell/session.ts';
import { FormDialog } from '../form-dialog.tsx';
import { filled } from '../form-faults.ts';
import { useKeysPanel, type MintProps } from '../keys-panel.tsx';
import { mintAction, overlapSecondsOf, RotationFields, rotationRules, rotationTerms } from '../rotation-terms.tsx';
import { useOrganization } from './organization.tsx';
import * as texts from './people-texts.ts';
import type { RiskSchemas } from './risk-api.ts';

type Key = RiskSchemas['Key'];

/** The person's own keys: mint, rotate, revoke. */
export function KeysPage(): ReactNode {
  const { inOrg, may } = useOrganization();
  const address = usePublicUrl('risk-partner', 'https://YOUR-RISK-PARTNER');
  const { button, panel } = useKeysPanel<Key, RiskSchemas['MintedKey']>({
    label: texts.myKeys,
    page: listed('/api/risk-partner/api/api-keys', inOrg),
    may: { mint: may('apiKey:create'), revoke: may('apiKey:delete') },
    mintTitle: texts.newKey,
    emptyText: texts.noKeyYetHint,
    dialog: (props) => <MintDialog {...props} />,
    curlOf: ({ rawKey }) => `curl -sS '${address}/api/risks?limit=5' -H 'Authorization: Bearer ${rawKey}'`,
    revoke: ({ id }) => server.DELETE('/api/risk-partner/api/api-keys/{id}', { ...inOrg, params: { path: { id } } }),
    revokedText: texts.revokedKeyHint,
  });
  return (
    <Page title={texts.myKeys} intro={texts.myKeysIntro} actions={button}>
      {panel}
    </Page>
  );
}

function MintDialog({ replaced, isLeaked, onMinted, onClose }: MintProps<Key, RiskSchemas['MintedKey']>): ReactNode {
  const { inOrg } = useOrganization();
  const mint = api.useMutation('post', '/api/risk-partner/api/api-keys', { onSuccess: onMinted });
  const form = useForm({
    initialValues: { label: replaced?.label ?? '', rotation: rotationTerms(isLeaked) },
    validate: { label: filled, rotation: rotationRules },
  });
  return (
    <FormDialog
      title={replaced === undefined ? texts.newKey : texts.rotateTheKey}
      {...mintAction(replaced !== undefined, form.values.rotation, {
        create: texts.createKey,
        rotate: texts.rotate,
        endAndCreate: texts.endItAndCreateAnother,
      })}
      form={form}
      doing={mint}
      onSubmit={({ label, rotation }) =>
        mint.mutate({
          ...inOrg,
          body: {
            label,
            ...(replaced !== undefined && { replaces: replaced.id, overlapSeconds: overlapSecondsOf(rotation) }),
          },
        })
      }
      onClose={onClose}
    >
      <TextInput
        label={texts.label}
        description={texts.labelHint}
        required
        maxLength={100}
        data-autofocus
        {...form.getInputProps('label')}
      />
      {replaced !== undefined && <RotationFields terms={form.values.rotation} propsOf={form.getInputProps} />}
    </FormDialog>
  );
}
