import { useEffect, useState, type ReactNode } from 'react';
import { Anchor, Button, Group, Paper, SimpleGrid, TextInput } from '@mantine/core';
import { Link, useNavigate } from 'react-router';
import { api } from '../../shell/api.ts';
import { PlainTable } from '../../shell/cursor-table.tsx';
import { Icon } from '../../shell/icons.tsx';
import { ListEmpty, Unread } from '../../shell/list-states.tsx';
import { Page, Section } from '../../shell/page.tsx';
import { Time } from '../../shell/time.tsx';
import { ChangedRecord, changeInWords } from '../risks/audited-change.tsx';
import { useCountedIntro, useOrganization } from '../risks/organization.tsx';
import { Figures } from './figures.tsx';
import { CoverageByFramework, FirstEvidence, useEvidenceStates } from './home-cards.tsx';
import * as texts from './texts.ts';

const SHOWN = 10;

/** The start page of an auditor: search, coverage, what changed since the last visit, and what is not proved. */
export function AuditorHome(): ReactNode {
  const { me, to } = useOrganization();
  const count = useEvidenceStates();
  const intro = useCountedIntro(texts.auditIntro);
  const since = useLastVisit(`${me.orgId} ${me.personId}`);
  return (
    <Page title={texts.audit} intro={intro}>
      <Search />
      <Figures
        figures={[
          { label: texts.approved, value: count('approved'), to: to('evidence/list?state=approved') },
          {
            label: texts.notReviewedYet,
            value: count('in_review'),
            to: to('evidence/list?state=in_review'),
            tone: 'wait',
          },
          { label: texts.expired, value: count('expired'), to: to('evidence/list?state=expired'), tone: 'bad' },
        ]}
      />
      <SimpleGrid cols={{ base: 1, md: 2 }} spacing="lg">
        <CoverageByFramework />
        <FirstEvidence title={texts.notReviewedYet} state="in_review" empty={texts.everythingIsReviewed} />
      </SimpleGrid>
      <Changes since={since} />
    </Page>
  );
}

function Search(): ReactNode {
  const { to } = useOrganization();
  const navigate = useNavigate();
  const [words, setWords] = useState('');
  const search = (list: 'evidence/list' | 'register'): void => {
    if (words.trim() !== '') void navigate(to(`${list}?q=${encodeURIComponent(words.trim())}`));
  };
  return (
    <Paper
      component="form"
      role="search"
      aria-label={texts.searchEvidenceAndRisks}
      onSubmit={(event) => {
        event.preventDefault();
        search('evidence/list');
      }}
    >
      <Group gap="sm" align="flex-end">
        <TextInput
          label={texts.searchEvidenceAndRisks}
          placeholder={texts.searchEvidenceAndRisksPlaceholder}
          leftSection={<Icon name="search" />}
          maxLength={100}
          value={words}
          onChange={({ currentTarget }) => setWords(currentTarget.value)}
          style={{ flex: '1 1 14rem' }}
        />
        <Button type="submit">{texts.searchEvidence}</Button>
        <Button variant="default" onClick={() => search('register')}>
          {texts.searchRisks}
        </Button>
      </Group>
    </Paper>
  );
}

/** The time of the visit before this one, by person; undefined on the first. Kept in this browser alone. */
function useLastVisit(person: string): string | undefined {
  const name = `sealgate last visit ${person}`;
  const [before] = useState(() => globalThis.localStorage.getItem(name) ?? undefined);
  useEffect(() => {
    globalThis.localStorage.setItem(name, new Date().toISOString());
  }, [name]);
  return before !== undefined && !Number.isNaN(Date.parse(before)) ? before : undefined;
}

function Changes({ since }: { readonly since: string | undefined }): ReactNode {
  const { inOrg, to } = useOrganization();
  const found = api.useQuery('get', '/api/risk-partner/api/audit', {
    ...inOrg,
    params: { query: { limit: SHOWN, ...(since !== undefined && { from: since }) } },
  });
  return (
    <Section title={since === undefined ? texts.newestChanges : texts.changedSinceYourLastVisit}>
      <Unread read={found} rows={4} />
      {found.data !== undefined && (
        <PlainTable
          label={texts.changes}
          rows={found.data}
          rowKey={({ id }) => id}
          columns={[
            { title: texts.when, width: '10rem', cell: ({ at }) => <Time value={at} form="ago" /> },
            { title: texts.what, width: '14rem', cell: changeInWords },
            { title: texts.which, cell: (event) => <ChangedRecord event={event} /> },
          ]}
          empty={<ListEmpty title={texts.nothingChangedSinceThen} icon="check" />}
        />
      )}
      <Anchor component={Link} to={to('audit')} size="sm">
        {texts.allChanges}
      </Anchor>
    </Section>
  );
}
