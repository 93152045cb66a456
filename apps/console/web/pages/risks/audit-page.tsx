import type { ReactNode } from 'react';
import { listed } from '../../shell/api.ts';
import { CursorTable } from '../../shell/cursor-table.tsx';
import { ListEmpty } from '../../shell/list-states.tsx';
import { Page } from '../../shell/page.tsx';
import { Time } from '../../shell/time.tsx';
import { useUrlFilters } from '../../shell/use-url-filters.ts';
import { Actor } from '../actor.tsx';
import type { Names } from '../actor-in-words.ts';
import { CodePicker } from '../code-picker.tsx';
import { FilterBar, PERIOD, TextFilter } from '../filter-bar.tsx';
import { actionInWords, kindInWords } from '../operations/audit-words.ts';
import { ChangedRecord, changeInWords } from './audited-change.tsx';
import { useOrganization, usePersonName } from './organization.tsx';
import { PersonPicker } from './record-picker.tsx';
import { exportOf } from './risk-api.ts';
import * as texts from './texts.ts';

const FILTERS = ['actorId', 'action', 'resource', 'resourceId', 'from', 'to'] as const;

const TYPED = [{ name: 'resourceId', label: texts.whichId }] as const;

const KINDS_CHANGED = ['risk', 'evidence', 'control', 'asset', 'policy', 'framework', 'member', 'invitation', 'apiKey'];
const VERBS = ['create', 'update', 'delete'];
/** What happens most; others are typed. */
const ACTIONS = KINDS_CHANGED.flatMap((kind) => VERBS.map((verb) => `${kind}.${verb}`)).map((value) => ({
  value,
  label: actionInWords(value),
}));
const RESOURCES = KINDS_CHANGED.map((value) => ({ value, label: kindInWords(value) }));

/** The audit events, newest first. */
export function AuditPage(): ReactNode {
  const { id: orgId, inOrg, may } = useOrganization();
  const nameOf = usePersonName();
  const [chosen, choose] = useUrlFilters(FILTERS);
  const namesOf = (id: string): Names => (nameOf(id) === id ? {} : { [id]: nameOf(id) });
  const isFiltered = Object.keys(chosen).length > 0;
  return (
    <Page title={texts.audit} intro={texts.auditIntro}>
      <FilterBar chosen={chosen} onChoose={choose} typed={TYPED} times={PERIOD}>
        {may('member:read') ? (
          <PersonPicker
            label={texts.who}
            value={chosen.actorId}
            onChange={(actorId) => choose({ actorId })}
            width={220}
            placeholder={texts.all}
          />
        ) : (
          <TextFilter label={texts.whoId} value={chosen.actorId} onSet={(actorId) => choose({ actorId })} />
        )}
        <CodePicker
          label={texts.action}
          value={chosen.action}
          choices={ACTIONS}
          onSet={(action) => choose({ action })}
        />
        <CodePicker
          label={texts.kind}
          width={170}
          value={chosen.resource}
          choices={RESOURCES}
          onSet={(resource) => choose({ resource })}
        />
      </FilterBar>
      <CursorTable
        label={texts.audit}
        tools={{ exports: may('audit:read') ? exportOf(orgId, 'audit', chosen) : undefined }}
        page={listed('/api/risk-partner/api/audit', { ...inOrg, query: chosen })}
        rowKey={({ id }) => id}
        columns={[
          { title: texts.when, width: '13rem', cell: ({ at }) => <Time value={at} /> },
          { title: texts.who, cell: ({ actorId }) => <Actor actor={actorId} names={namesOf(actorId)} /> },
          { title: texts.what, width: '14rem', cell: changeInWords },
          { title: texts.which, cell: (event) => <ChangedRecord event={event} /> },
        ]}
        empty={<ListEmpty title={isFiltered ? texts.nothingMatchesTheseFilters : texts.nothingHappenedYet} />}
      />
    </Page>
  );
}
