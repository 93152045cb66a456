import type { ReactNode } from 'react';
import { Group, NativeSelect, SegmentedControl } from '@mantine/core';
import { Page } from '../../shell/page.tsx';
import { useUrlFilters } from '../../shell/use-url-filters.ts';
import { useNetworks, useSources } from '../networks/network-names.ts';
import {
  FailureGroups,
  PeriodFilter,
  RefusedFilterFields,
  refusedFilterNames,
  RefusedTable,
} from '../networks/refused-table.tsx';
import { DataViewTabs } from './data-view-tabs.tsx';
import * as texts from './texts.ts';

const filterNames = ['show', 'networkId', 'sourceId', ...refusedFilterNames] as const;

/** Deliveries that were refused, of all sources: they have no event. */
export function RefusedPage(): ReactNode {
  const [{ show, networkId, sourceId, ...filters }, setFilters] = useUrlFilters(filterNames);
  const networks = useNetworks();
  const sources = useSources(networkId);
  const of = { networkId, sourceId };
  const isGrouped = show === 'same';
  return (
    <Page
      title={texts.refusedDeliveries}
      intro={texts.refusedDeliveriesIntro}
      above={[{ title: texts.dataView, to: '/events' }]}
    >
      <DataViewTabs />
      <Group gap="sm" align="flex-end">
        <NativeSelect
          label={texts.network}
          data={[{ value: '', label: texts.any }, ...networks.map(({ id, name }) => ({ value: id, label: name }))]}
          value={networkId ?? ''}
          onChange={(event) => setFilters({ networkId: event.currentTarget.value, sourceId: null })}
        />
        {networkId !== undefined && (
          <NativeSelect
            label={texts.source}
            data={[{ value: '', label: texts.any }, ...sources.map(({ id, name }) => ({ value: id, label: name }))]}
            value={sourceId ?? ''}
            onChange={(event) => setFilters({ sourceId: event.currentTarget.value })}
          />
        )}
        <SegmentedControl
          aria-label={texts.whatToList}
          data={[
            { value: 'each', label: texts.eachDelivery },
            { value: 'same', label: texts.sameFailures },
          ]}
          value={isGrouped ? 'same' : 'each'}
          onChange={(value) => setFilters({ show: value === 'same' ? value : null })}
        />
      </Group>
      {isGrouped ? (
        <>
          <Group gap="sm">
            <PeriodFilter from={filters.from} to={filters.to} onChange={setFilters} />
          </Group>
          <FailureGroups of={of} from={filters.from} to={filters.to} />
        </>
      ) : (
        <>
          <RefusedFilterFields of={of} filters={filters} onChange={setFilters} />
          <RefusedTable of={of} filters={filters} />
        </>
      )}
    </Page>
  );
}
