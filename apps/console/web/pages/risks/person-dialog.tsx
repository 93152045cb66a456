import { useState, type ReactNode } from 'react';
import { Checkbox, TagsInput, Text } from '@mantine/core';
import { useForm, type UseFormReturnType } from '@mantine/form';
import { useMutation } from '@tanstack/react-query';
import { server } from '../../shell/api.ts';
import { ClosingMultiSelect } from '../closing-multi-select.tsx';
import { FormDialog } from '../form-dialog.tsx';
import { useOrganization } from './organization.tsx';
import * as texts from './people-texts.ts';
import { valuesOf } from './record-schemas.ts';
import type { Person } from './risk-api.ts';
import { rowsOfRoles } from './rows-of-roles.ts';
import { inWords } from './words.ts';

/** What to do about refusals of changes of people, by code. */
export const PEOPLE_REFUSALS = {
  IN_USE: texts.thisIsTheLastOwner,
  FORBIDDEN: texts.givesTooMuch,
  NOT_FOUND: texts.removedMeanwhile,
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
  const { inOrg } = useOrganization();
  const [kept, setKept] = useState<Rights>(person);
  return useMutation({
    async mutationFn({ roles, scope }: Rights) {
      const params = { path: { id: person.id } };
      if (!isSame(roles, kept.roles)) {
        await server.PUT('/api/risk-partner/api/people/{id}/roles', { ...inOrg, params, body: { roles } });
        setKept((before) => ({ ...before, roles }));
      }
      if (!isSame(scope, kept.scope))
        await server.PUT('/api/risk-partner/api/people/{id}/scope', { ...inOrg, params, body: scope });
    },
    onSuccess: onDone,
  });
}

const isSame = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other);

/** Changes roles and scope of a member. */
export function PersonDialog(props: PersonDialogProps): ReactNode {
  const { person, onClose } = props;
  const save = useSaved(props);
  const form = useForm<Rights>({ initialValues: { roles: person.roles, scope: person.scope } });
  return (
    <FormDialog
      title={person.name}
      action={texts.save}
      form={form}
      doing={save}
      explain={PEOPLE_REFUSALS}
      onSubmit={(rights) => save.mutate(rights)}
      onClose={onClose}
    >
      <RightsFields roles={form.values.roles} scope={form.values.scope} propsOf={form.getInputProps} />
    </FormDialog>
  );
}

const ROLES = valuesOf('Role').map((value) => ({ value, label: inWords(value) }));

interface RightsProps extends Rights {
  /** The props of the input at a path of the form. */
  readonly propsOf: UseFormReturnType<Rights>['getInputProps'];
  /** An invitation needs one; a member may be without. */
  readonly isRoleRequired?: boolean;
}

export function RightsFields({ roles, scope, propsOf, isRoleRequired = false }: RightsProps): ReactNode {
  const { decided, allRows, isSensitiveAsked } = rowsOfRoles(roles);
  return (
    <>
      <ClosingMultiSelect label={texts.roles} required={isRoleRequired} searchable data={ROLES} {...propsOf('roles')} />
      {decided !== undefined && <Text size="sm">{decided}</Text>}
      {allRows !== undefined && (
        <Checkbox
          label={texts.seesAllRows}
          description={allRows}
          {...propsOf('scope.unrestricted', { type: 'checkbox' })}
        />
      )}
      {allRows !== undefined && !scope.unrestricted && (
        <TagsInput label={texts.departments} description={texts.departmentsHint} {...propsOf('scope.departments')} />
      )}
      {isSensitiveAsked && (
        <Checkbox
          label={texts.seesSensitiveRows}
          description={texts.seesSensitiveRowsHint}
          {...propsOf('scope.canReadSensitive', { type: 'checkbox' })}
        />
      )}
    </>
  );
}
