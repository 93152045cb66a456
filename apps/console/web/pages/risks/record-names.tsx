import type { ReactNode } from 'react';
import { Anchor, Group, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from 'react-router';
import { CopyButton } from '../../shell/code-text.tsx';
import { useOrganization } from './organization.tsx';
import { KINDS } from './record-kinds.ts';
import { recordQuery, type InOrganization, type Kind, type Views } from './risk-api.ts';
import * as texts from './texts.ts';

/** A record that others name, kept while pages that name it are read. */
export const namedQuery = (inOrg: InOrganization, kind: Kind, id: string) => ({
  ...recordQuery(inOrg, kind, id),
  staleTime: 60_000,
  retry: false,
});

/** Reference and title, or name. */
export function titleOf(record: Views[Kind]): string {
  const { refId, title, name } = record as { refId?: string | null; title?: string; name?: string };
  return [refId, title ?? name ?? record.id].filter(Boolean).join(' · ');
}

/** A record by its title, linked, with its id behind a copy button; by its id where it cannot be read. */
export function RecordName({ kind, id }: { readonly kind: Kind; readonly id: string }): ReactNode {
  const { inOrg, to } = useOrganization();
  const { data } = useQuery(namedQuery(inOrg, kind, id));
  const title = data === undefined ? id : titleOf(data.record);
  return (
    <Group gap={4} wrap="nowrap" component="span" display="inline-flex" maw="100%">
      <Anchor
        component={Link}
        to={to(`${KINDS[kind].page}/${encodeURIComponent(id)}`)}
        size="sm"
        className="wrap"
        title={id}
      >
        {title}
      </Anchor>
      <CopyButton value={id} label={texts.copyTheIdOf(title)} />
    </Group>
  );
}

/** More are behind the page of the record. */
const MOST_NAMES = 20;

export const RecordNames = ({ kind, ids }: { readonly kind: Kind; readonly ids: readonly string[] }): ReactNode => (
  <Group gap="4px 14px">
    {ids.slice(0, MOST_NAMES).map((id) => (
      <RecordName key={id} kind={kind} id={id} />
    ))}
    {ids.length > MOST_NAMES && (
      <Text size="sm" c="dimmed" component="span">
        {texts.andMore(ids.length - MOST_NAMES)}
      </Text>
    )}
  </Group>
);
