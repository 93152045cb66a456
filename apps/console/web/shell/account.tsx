import type { ReactNode } from 'react';
import { Stack, Text } from '@mantine/core';
import { useMine } from './mine.ts';
import { Fact } from './page.tsx';
import { surfaceNames } from './surface-names.ts';

const inWords = (roles: readonly string[]): string =>
  roles.length === 0 ? 'no role' : roles.map((role) => role.replaceAll('_', ' ')).join(', ');

/** The roles of the signed-in person: in each organisation, and at the administration of each service. */
export function Roles(): ReactNode {
  const { mine } = useMine();
  if (mine === undefined) return null;
  return (
    <Stack gap="xs">
      {mine.person?.organizations.map(({ id, name, member }) => (
        <Fact key={id} label={name}>
          {member === null ? 'invited' : inWords(member.roles)}
        </Fact>
      ))}
      {mine.person?.isPartner === true && <Fact label={surfaceNames['risk-partner'].title}>partner</Fact>}
      {mine.administers.map(({ id, roles }) => (
        <Fact key={id} label={`${surfaceNames[id].title}, administration`}>
          {inWords(roles)}
        </Fact>
      ))}
      {mine.homes.length === 0 && <Text size="sm">No service knows you yet.</Text>}
    </Stack>
  );
}
