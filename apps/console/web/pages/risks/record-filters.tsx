import type { ReactNode } from 'react';
import { Select } from '@mantine/core';
import { FilterBar, TextFilter } from '../filter-bar.tsx';
import { useOrganization } from './organization.tsx';
import { PersonPicker, RecordPicker } from './record-picker.tsx';
import * as texts from './texts.ts';
import { WorseFilter } from './worse-filter.tsx';
import { inWords } from './words.ts';

export interface Filter {
  readonly name: string;
  readonly label: string;
  /** The values to choose from; default: free text. */
  readonly choices?: readonly string[];
}

/** The filters of a list of records. */
export function RecordFilters({
  filters,
  chosen,
  onChoose,
}: {
  readonly filters: readonly Filter[];
  readonly chosen: Readonly<Partial<Record<string, string>>>;
  readonly onChoose: (changes: Partial<Record<string, string | null>>) => void;
}): ReactNode {
  if (filters.length === 0) return null;
  return (
    <FilterBar chosen={chosen} onChoose={onChoose}>
      {filters.map(({ name, label, choices }) =>
        choices === undefined ? (
          <TypedFilter
            key={name}
            name={name}
            label={label}
            value={chosen[name]}
            onSet={(value) => onChoose({ [name]: value })}
          />
        ) : (
          <Select
            label={label}
            clearable
            placeholder={texts.all}
            w={150}
            key={name}
            value={chosen[name] ?? null}
            data={choices.map((choice) => ({ value: choice, label: inWords(choice) }))}
            onChange={(value) => onChoose({ [name]: value })}
            clearButtonProps={{ 'aria-label': texts.clear(label) }}
          />
        ),
      )}
    </FilterBar>
  );
}

/** A filter by id is chosen by name, by time from a list; those who may not list the members type the id of one. */
function TypedFilter({
  name,
  ...input
}: {
  readonly name: string;
  readonly label: string;
  readonly value: string | undefined;
  readonly onSet: (value: string | null) => void;
}): ReactNode {
  const { may } = useOrganization();
  const { label, value, onSet } = input;
  if (name === 'ownerId' && may('member:read'))
    return <PersonPicker label={label} value={value} onChange={onSet} width={200} placeholder={texts.all} />;
  if (name === 'worseSince') return <WorseFilter {...input} />;
  if (name === 'controlId') return <RecordPicker kind="controls" label={label} value={value} onChange={onSet} />;
  return <TextFilter {...input} width={150} />;
}
