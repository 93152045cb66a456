import { useState, type ReactNode } from 'react';
import { Checkbox, TagsInput, Text } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { dataOf } from '../../shell/console-fetch.ts';
import { ClosingMultiSelect } from '../closing-multi-select.tsx';
import { FormDialog } from '../form-dialog.tsx';
import { useOrganization } from './organization.tsx';
import { valuesOf } from './record-schemas.ts';
import type { Person } from './risk-api.ts';
import { rowsOfRoles } from './rows-of-roles.ts';
import { inWords } from './words.ts';

/** What to do about refusals of changes of people, by code. */
export const PEOPLE_REFUSALS = {
  IN_USE: 'This is the last owner. Make somebody else an owner first.',
  FORBIDDEN:
    'You can give only roles and rows that you have yourself, never more to yourself, and only owners change owners.',
  ALREADY_EXISTS: 'Somebody with this address was invited already, or is a member.',
  NOT_FOUND: 'Somebody else has removed this meanwhile. Close this and look again.',
} as const;

/** Roles and scope: what a person may do, and which rows they see. */
export type Rights = Pick<Person, 'roles' | 'scope'>;

interface PersonDialogProps {
  readonly person: Person;
  readonly onDone: () => void;
  readonly onClose: () => void;
}

/** Sends only what was changed: a person may be allowed one and not the other. */
function useSaved({ person, onDone }: PersonDialogProps) {
  const { client } = useOrganization();
  const [kept, setKept] = useState<Rights>(person);
  return useMutation({
    async mutationFn({ roles, scope }: Rights) {
      const params = { path: { id: person.id } };
      if (!isSame(roles, kept.roles)) {
        await dataOf(client.PUT('/api/people/{id}/roles', { params, body: { roles } }));
        setKept((before) => ({ ...before, roles }));
      }
      if (!isSame(scope, kept.scope)) await dataOf(client.PUT('/api/people/{id}/scope', { params, body: scope }));
    },
    onSuccess: onDone,
  });
}

const isSame = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other);

/** Changes roles and scope of a member. */
export function PersonDialog(props: PersonDialogProps): ReactNode {
  const { person, onClose } = props;
  const [rights, setRights] = useState<Rights>({ roles: person.roles, scope: person.scope });
  const save = useSaved(props);
  return (
    <FormDialog
      title={person.name}
      action="Save"
      doing={save}
      explain={PEOPLE_REFUSALS}
      onSubmit={() => save.mutate(rights)}
      onClose={onClose}
    >
      <RightsFields rights={rights} onChange={(change) => setRights({ ...rights, ...change })} />
    </FormDialog>
  );
}

const ROLES = valuesOf('Role').map((value) => ({ value, label: inWords(value) }));

export function RightsFields({
  rights: { roles, scope },
  onChange,
}: {
  readonly rights: Rights;
  readonly onChange: (change: Partial<Rights>) => void;
}): ReactNode {
  const { decided, allRows, isSensitiveAsked } = rowsOfRoles(roles);
  const change = (changes: Partial<Rights['scope']>) => onChange({ scope: { ...scope, ...changes } });
  return (
    <>
      <ClosingMultiSelect
        label="Roles"
        searchable
        data={ROLES}
        value={[...roles]}
        onChange={(value) => onChange({ roles: value as Person['roles'] })}
      />
      {decided !== undefined && <Text size="sm">{decided}</Text>}
      {allRows !== undefined && (
        <Checkbox
          label="Sees all rows"
          description={allRows}
          checked={scope.unrestricted}
          onChange={(event) => change({ unrestricted: event.currentTarget.checked })}
        />
      )}
      {allRows !== undefined && !scope.unrestricted && (
        <TagsInput
          label="Departments"
          description="Whose rows are seen besides their own."
          value={scope.departments}
          onChange={(departments) => change({ departments })}
        />
      )}
      {isSensitiveAsked && (
        <Checkbox
          label="Sees sensitive rows"
          description="Of the rows that they see anyway, those marked as sensitive too. Their own they see in any case."
          checked={scope.canReadSensitive}
          onChange={(event) => change({ canReadSensitive: event.currentTarget.checked })}
        />
      )}
    </>
  );
}
