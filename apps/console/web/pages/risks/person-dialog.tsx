import { useState, type ReactNode } from 'react';
import { Checkbox, MultiSelect, Select, TagsInput, TextInput } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { dataOf } from '../../shell/console-fetch.ts';
import { FormDialog } from '../form-dialog.tsx';
import { valuesOf } from './record-schemas.ts';
import { type Person, riskAdmin } from './risk-api.ts';
import { inWords } from './words.ts';

interface PersonDialogProps {
  readonly orgId: string;
  /** Undefined for a new person. */
  readonly person: Person | undefined;
  readonly onDone: () => void;
  readonly onClose: () => void;
}

interface PersonDraft {
  readonly name: string;
  readonly kind: Person['kind'];
  readonly roles: Person['roles'];
  readonly scope: Person['scope'];
  /** The address to invite; empty: no invitation. */
  readonly email: string;
}

const NOBODY: PersonDraft = {
  name: '',
  kind: 'human',
  roles: [],
  email: '',
  scope: { unrestricted: false, canReadSensitive: false, departments: [] },
};

const ROLES = valuesOf('Role').map((value) => ({ value, label: inWords(value) }));
const KINDS = [
  { value: 'human', label: 'Person' },
  { value: 'machine', label: 'Machine' },
];

/** Completed steps are kept: if the invitation is refused, the person remains, and a retry only invites. */
function useSaved({ orgId, person, onDone }: PersonDialogProps) {
  const [made, setMade] = useState<string>();
  return useMutation({
    async mutationFn({ email, name, ...draft }: PersonDraft) {
      const add = async () => {
        const body = { ...draft, name: name.trim() };
        return (await dataOf(riskAdmin.POST('/admin/v1/orgs/{orgId}/people', { params: { path: { orgId } }, body })))
          .id;
      };
      const personId = person?.id ?? made ?? (await add());
      setMade(personId);
      const params = { path: { orgId, personId } };
      if (person !== undefined) {
        const { roles, scope } = draft;
        await dataOf(riskAdmin.PUT('/admin/v1/orgs/{orgId}/people/{personId}/roles', { params, body: { roles } }));
        await dataOf(riskAdmin.PUT('/admin/v1/orgs/{orgId}/people/{personId}/scope', { params, body: scope }));
      }
      const body = { email: email.trim() };
      if (body.email !== '')
        await dataOf(riskAdmin.POST('/admin/v1/orgs/{orgId}/people/{personId}/identities', { params, body }));
    },
    onSuccess: onDone,
  });
}

/**
 * Adds a person, or changes roles and scope of one. With an e-mail address it invites: the first sign-in with it
 * becomes the person.
 */
export function PersonDialog(props: PersonDialogProps): ReactNode {
  const { person, onClose } = props;
  const [draft, setDraft] = useState<PersonDraft>({ ...NOBODY, ...person });
  const save = useSaved(props);
  const title = person === undefined ? 'Add a person' : person.name;
  return (
    <FormDialog
      title={title}
      action={person === undefined ? 'Add' : 'Save'}
      doing={save}
      onSubmit={() => save.mutate(draft)}
      isReady={draft.name.trim() !== ''}
      onClose={onClose}
    >
      <PersonFields
        draft={draft}
        isNew={person === undefined}
        onChange={(change) => setDraft({ ...draft, ...change })}
      />
    </FormDialog>
  );
}

interface FieldsProps {
  readonly draft: PersonDraft;
  readonly isNew: boolean;
  readonly onChange: (change: Partial<PersonDraft>) => void;
}

function PersonFields({ draft, isNew, onChange }: FieldsProps): ReactNode {
  const { name, kind, roles, scope, email } = draft;
  return (
    <>
      {isNew && (
        <>
          <TextInput
            label="Name"
            required
            maxLength={200}
            value={name}
            data-autofocus
            onChange={(event) => onChange({ name: event.currentTarget.value })}
          />
          <Select
            label="Kind"
            allowDeselect={false}
            data={KINDS}
            value={kind}
            onChange={(value) => onChange({ kind: value === 'machine' ? 'machine' : 'human' })}
          />
        </>
      )}
      <MultiSelect
        label="Roles"
        data={ROLES}
        value={[...roles]}
        onChange={(value) => onChange({ roles: value as Person['roles'] })}
      />
      <Checkbox
        label="Sees all rows"
        checked={scope.unrestricted}
        onChange={(event) => onChange({ scope: { ...scope, unrestricted: event.currentTarget.checked } })}
      />
      <TagsInput
        label="Departments"
        description="Whose rows are seen besides their own."
        value={scope.departments}
        onChange={(departments) => onChange({ scope: { ...scope, departments } })}
      />
      <Checkbox
        label="Sees sensitive rows"
        checked={scope.canReadSensitive}
        onChange={(event) => onChange({ scope: { ...scope, canReadSensitive: event.currentTarget.checked } })}
      />
      <TextInput
        label="Invite by e-mail"
        type="email"
        maxLength={254}
        value={email}
        description="The first sign-in with this address, verified, becomes this person; within 14 days."
        onChange={(event) => onChange({ email: event.currentTarget.value })}
      />
    </>
  );
}
