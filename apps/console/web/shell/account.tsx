import type { ReactNode } from 'react';
import { Stack, Text } from '@mantine/core';
import { useMine } from './mine.ts';
import { Fact } from './page.tsx';
import { surfaceNames } from './surface-names.ts';
import * as texts from './texts.ts';

const inWords = (roles: readonly string[]): string =>
  roles.length === 0 ? texts.noRole : roles.map((role) => role.replaceAll('_', ' ')).join(', ');

/** The roles of the signed-in person: in each organisation, and at the administration of each service. */
export function Roles(): ReactNode {
  const { mine } = useMine();
  if (mine === undefined) return null;
  return (
    <Stack gap="xs">
      {mine.person?.organizations.map(({ id, name, member }) => (
        <Fact key={id} label={name}>
          {member === null ? texts.invited : inWords(member.roles)}
        </Fact>
      ))}
      {mine.person?.isPartner === true && <Fact label={surfaceNames['risk-partner'].title}>{texts.partner}</Fact>}
      {mine.administers.map(({ id, roles }) => (
        <Fact key={id} label={texts.administration(surfaceNames[id].title)}>
          {inWords(roles)}
        </Fact>
      ))}
      {mine.homes.length === 0 && <Text size="sm">{texts.noServiceKnowsYouYet}</Text>}
    </Stack>
  );
}
