import type { ReactNode } from 'react';
import { Anchor } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from 'react-router';
import { PlainTable, type Column } from '../../shell/cursor-table.tsx';
import { ListEmpty, Unread } from '../../shell/list-states.tsx';
import { Section } from '../../shell/page.tsx';
import { Time } from '../../shell/time.tsx';
import { totalInWords } from '../../shell/total.ts';
import { useOrganization } from './organization.tsx';
import { KINDS } from './record-kinds.ts';
import { titleOf } from './record-names.tsx';
import { Score, Status } from './record-values.tsx';
import { recordPages, type Views } from './risk-api.ts';
import * as texts from './texts.ts';

/** What names a control: the evidence that it works, the risks that it is against, and the assets that it protects. */
export function OfControl({ id }: { readonly id: string }): ReactNode {
  const { may } = useOrganization();
  return (
    <>
      {may('evidence:read') && (
        <Naming
          kind="evidence"
          control={id}
          title={texts.itsEvidence}
          list="evidence/list"
          column={{ title: texts.state, width: '9rem', cell: ({ state }) => <Status value={state} /> }}
          empty={texts.noEvidenceNamesThisControl}
        />
      )}
      {may('risk:read') && (
        <Naming
          kind="risks"
          control={id}
          title={texts.itsRisks}
          list="register"
          column={{ title: texts.current, width: '9rem', cell: ({ current }) => <Score score={current.score} /> }}
          empty={texts.noRiskNamesThisControl}
        />
      )}
      {may('asset:read') && (
        <Naming
          kind="assets"
          control={id}
          title={texts.itsAssets}
          list="assets"
          column={{ title: texts.status, width: '9rem', cell: ({ status }) => <Status value={status} /> }}
          empty={texts.noAssetNamesThisControl}
        />
      )}
    </>
  );
}

interface NamingProps<K extends 'evidence' | 'risks' | 'assets'> {
  readonly kind: K;
  readonly control: string;
  readonly title: string;
  /** The page of the whole list. */
  readonly list: string;
  readonly column: Column<Views[K]>;
  readonly empty: string;
}

const SHOWN = 10;

/** The records of a kind that name a control, those first that changed last. */
function Naming<K extends 'evidence' | 'risks' | 'assets'>(props: NamingProps<K>): ReactNode {
  const { kind, control, title, list, column, empty } = props;
  const { inOrg, to } = useOrganization();
  const { head, page } = KINDS[kind];
  const found = useQuery(recordPages(inOrg, kind, { controlId: control, sort: '-updatedAt', limit: SHOWN })({}));
  const { items = [], total = items.length } = found.data ?? {};
  return (
    <Section title={title}>
      <Unread read={found} rows={2} />
      {found.data !== undefined && (
        <PlainTable
          label={title}
          rows={items}
          rowKey={(row) => row.id}
          columns={[
            {
              title: head,
              cell: (row) => (
                <Anchor component={Link} to={to(`${page}/${encodeURIComponent(row.id)}`)} size="sm" className="wrap">
                  {titleOf(row)}
                </Anchor>
              ),
            },
            column,
            { title: texts.changed, width: '9rem', cell: ({ updatedAt }) => <Time value={updatedAt} form="ago" /> },
          ]}
          empty={<ListEmpty title={empty} />}
        />
      )}
      {items.length > 0 && (
        <Anchor component={Link} to={`${to(list)}?${new URLSearchParams({ controlId: control })}`} size="sm">
          {texts.allOfTitle(title, totalInWords(total))}
        </Anchor>
      )}
    </Section>
  );
}
