import { useState, type ReactNode } from 'react';
import { Select, type ComboboxItem } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { keepPreviousData, useQueries, useQuery } from '@tanstack/react-query';
import { api } from '../../shell/api.ts';
import { ClosingMultiSelect } from '../closing-multi-select.tsx';
import { useOrganization, usePersonName } from './organization.tsx';
import { namedQuery, titleOf } from './record-names.tsx';
import { recordPages, type Kind } from './risk-api.ts';
import * as texts from './texts.ts';

const SEARCHED_AFTER_MS = 250;
const SHOWN = 20;
/** Titles that are read for what is chosen already; more are shown by id. */
const MOST_NAMES = 40;

/** The service searches, so what it found is not filtered again. */
const asFound = ({ options }: { readonly options: unknown }) => options as ComboboxItem[];

/** The options, with those that are chosen and were not found now. */
const withChosen = (found: readonly ComboboxItem[], chosen: readonly ComboboxItem[]): ComboboxItem[] => [
  ...found,
  ...chosen.filter(({ value }) => !found.some((one) => one.value === value)),
];

/** The title of what is chosen stands in the box, which is no search for it. */
const isTitle = (chosen: readonly ComboboxItem[], words: string): boolean =>
  chosen.some(({ label }) => label === words);

interface InputProps {
  readonly label: string;
  readonly name?: string;
  readonly description?: string | undefined;
  readonly error?: ReactNode;
  readonly required?: boolean;
}

interface RecordsPickerProps extends InputProps {
  readonly kind: Kind;
  readonly value: readonly string[];
  readonly onChange: (ids: string[]) => void;
}

/** The words of a picker. What matches them is asked for from its first opening on. */
function useWords() {
  const [words, setWords] = useState('');
  const [wasOpen, setWasOpen] = useState(false);
  const [typed] = useDebouncedValue(words.trim(), SEARCHED_AFTER_MS);
  return { words, typed, wasOpen, onSearchChange: setWords, onDropdownOpen: () => setWasOpen(true) };
}

/** The records of a collection that match the words, as options, with those that are chosen. */
function useRecordOptions(
  kind: Kind,
  { typed, wasOpen }: { readonly typed: string; readonly wasOpen: boolean },
  ids: readonly string[],
): { readonly data: ComboboxItem[]; readonly nothingFoundMessage: string } {
  const { inOrg } = useOrganization();
  const named = useQueries({
    queries: ids.slice(0, MOST_NAMES).map((id) => namedQuery(inOrg, kind, id)),
  });
  const chosen = ids.map((id, at) => {
    const record = named[at]?.data?.record;
    return { value: id, label: record === undefined ? id : titleOf(record) };
  });
  const q = isTitle(chosen, typed) ? '' : typed;
  const found = useQuery({
    ...recordPages(inOrg, kind, { q, limit: SHOWN })({}),
    enabled: wasOpen,
    placeholderData: keepPreviousData,
  });
  const options = (found.data?.items ?? []).map((record) => ({ value: record.id, label: titleOf(record) }));
  return {
    data: withChosen(options, chosen),
    nothingFoundMessage: found.isPending ? texts.loading : texts.nothingMatchesTheseWords,
  };
}

/** Chooses records by words of their titles, references or ids. */
export function RecordsPicker({ kind, value, onChange, ...input }: RecordsPickerProps): ReactNode {
  const { words, onSearchChange, onDropdownOpen, ...asked } = useWords();
  const options = useRecordOptions(kind, asked, value);
  return (
    <ClosingMultiSelect
      {...input}
      {...options}
      searchable
      hidePickedOptions
      searchValue={words}
      onSearchChange={onSearchChange}
      onDropdownOpen={onDropdownOpen}
      filter={asFound}
      value={[...value]}
      onChange={onChange}
    />
  );
}

/** One record, or none, as a filter. */
export function RecordPicker({
  kind,
  value,
  onChange,
  ...input
}: InputProps & {
  readonly kind: Kind;
  readonly value: string | undefined;
  readonly onChange: (id: string | null) => void;
}): ReactNode {
  const { onSearchChange, onDropdownOpen, ...asked } = useWords();
  const options = useRecordOptions(kind, asked, value === undefined ? [] : [value]);
  return (
    <Select
      {...input}
      {...options}
      searchable
      clearable
      placeholder={texts.all}
      w={200}
      onSearchChange={onSearchChange}
      onDropdownOpen={onDropdownOpen}
      filter={asFound}
      value={value ?? null}
      onChange={onChange}
      clearButtonProps={{ 'aria-label': texts.clear(input.label) }}
    />
  );
}

/** Chooses a member by words of their name or id, for those who may list the members. */
export function PersonPicker({
  value,
  onChange,
  width,
  placeholder,
  ...input
}: InputProps & {
  readonly value: string | undefined;
  readonly onChange: (id: string | null) => void;
  readonly width?: number;
  readonly placeholder?: string;
}): ReactNode {
  const { inOrg } = useOrganization();
  const nameOf = usePersonName();
  const { typed, wasOpen, onSearchChange, onDropdownOpen } = useWords();
  const chosen = value === undefined ? [] : [{ value, label: nameOf(value) }];
  const q = isTitle(chosen, typed) ? '' : typed;
  const found = api.useQuery(
    'get',
    '/api/risk-partner/api/people',
    { ...inOrg, params: { query: { limit: SHOWN, sort: 'name', ...(q !== '' && { q }) } } },
    { enabled: wasOpen, placeholderData: keepPreviousData },
  );
  const options = (found.data ?? []).map(({ id, name }) => ({ value: id, label: id === value ? nameOf(id) : name }));
  return (
    <Select
      {...input}
      searchable
      clearable
      {...(width !== undefined && { w: width })}
      {...(placeholder !== undefined && { placeholder })}
      onSearchChange={onSearchChange}
      onDropdownOpen={onDropdownOpen}
      data={withChosen(options, chosen)}
      filter={asFound}
      value={value ?? null}
      onChange={onChange}
      clearButtonProps={{ 'aria-label': texts.clear(input.label) }}
      nothingFoundMessage={found.isPending ? texts.loading : texts.nobodyMatchesTheseWords}
    />
  );
}
