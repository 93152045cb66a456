import type { ReactNode } from 'react';
import { Anchor, Group } from '@mantine/core';
import { Link } from 'react-router';
import { CodeText, CopyButton } from '../../shell/code-text.tsx';
import { actionInWords } from '../operations/audit-words.ts';
import { useOrganization } from './organization.tsx';
import { KINDS } from './record-kinds.ts';
import type { RiskSchemas } from './risk-api.ts';
import * as texts from './texts.ts';

type Event = Pick<RiskSchemas['AuditEvent'], 'action' | 'resource' | 'resourceId'>;

const verbOf = ({ action }: Pick<Event, 'action'>): string => action.slice(action.lastIndexOf('.') + 1);

export const changeInWords = (event: Pick<Event, 'action' | 'resource'>): string =>
  actionInWords(`${event.resource}.${verbOf(event)}`);

const SHOWN_CHARACTERS = 16;

/** What was changed, with a link to what is still there. Its title would be one more request for each row. */
export function ChangedRecord({ event }: { readonly event: Event }): ReactNode {
  const { to } = useOrganization();
  const { resource, resourceId } = event;
  const kind = Object.values(KINDS).find((one) => one.resource === resource);
  if (kind === undefined || verbOf(event) === 'delete')
    return <CodeText value={resourceId} label={texts.copyTheId} short={SHOWN_CHARACTERS} />;
  return (
    <Group gap={4} wrap="nowrap" component="span" display="inline-flex">
      <Anchor
        component={Link}
        to={to(`${kind.page}/${encodeURIComponent(resourceId)}`)}
        size="sm"
        title={resourceId}
        aria-label={texts.openTheRecord(kind.one, resourceId)}
      >
        {texts.openTheNewest(kind.one)}
      </Anchor>
      <CopyButton value={resourceId} label={texts.copyTheId} />
    </Group>
  );
}
