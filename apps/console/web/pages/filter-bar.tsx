import { useId, useState, type ReactNode } from 'react';
import { Button, Group, TextInput } from '@mantine/core';
import { localTime } from '../shell/local-time.ts';
import * as texts from './texts.ts';
import classes from './filter-bar.module.css';

interface Field<Name> {
  readonly name: Name;
  readonly label: string;
}

interface FilterBarProps<Name extends string> {
  readonly chosen: Readonly<Partial<Record<Name, string>>>;
  readonly onChoose: (changes: Partial<Record<Name, string | null>>) => void;
  readonly typed?: readonly (Field<Name> & Pick<TextFilterProps, 'placeholder' | 'width'>)[];
  readonly times?: readonly Field<Name>[];
  /** Fields of other kinds; they come first. */
  readonly children?: ReactNode;
}

/** The filters of a list, which are in the URL, and a button that clears them. */
export function FilterBar<Name extends string>(props: FilterBarProps<Name>): ReactNode {
  const { chosen, onChoose, typed = [], times = [], children } = props;
  const set = (name: Name, value: string | null): void => onChoose({ [name]: value } as Partial<Record<Name, null>>);
  const names = Object.keys(chosen);
  return (
    <FilterBox count={names.length}>
      {children}
      {typed.map(({ name, ...field }) => (
        <TextFilter key={name} {...field} value={chosen[name]} onSet={(value) => set(name, value)} />
      ))}
      {times.map(({ name, label }) => (
        <TimeFilter key={name} label={label} value={chosen[name]} onSet={(value) => set(name, value)} />
      ))}
      {names.length > 0 && (
        <Button
          variant="subtle"
          onClick={() => onChoose(Object.fromEntries(names.map((name) => [name, null])) as Partial<Record<Name, null>>)}
        >
          {texts.clearFilters}
        </Button>
      )}
    </FilterBox>
  );
}

/** Filters side by side; on small screens behind a button that says how many are set, so that the list comes first. */
export function FilterBox({ count, children }: { readonly count: number; readonly children: ReactNode }): ReactNode {
  const [isOpen, setOpen] = useState(false);
  const id = useId();
  return (
    <div role="search" aria-label={texts.filters}>
      <Button
        className={classes['opener'] ?? ''}
        variant="default"
        aria-expanded={isOpen}
        aria-controls={id}
        onClick={() => setOpen(!isOpen)}
      >
        {count === 0 ? texts.filters : texts.filtersSet(count)}
      </Button>
      <Group id={id} gap="sm" align="flex-end" className={classes['fields'] ?? ''} data-open={isOpen}>
        {children}
      </Group>
    </div>
  );
}

/** From and to. */
export const PERIOD = [
  { name: 'from', label: texts.from },
  { name: 'to', label: texts.to },
] as const;

interface TextFilterProps {
  readonly label: string;
  readonly value: string | undefined;
  readonly placeholder?: string;
  readonly width?: number;
  readonly onSet: (value: string | null) => void;
}

/** A text filter, applied on Enter or when the field loses focus. */
export const TextFilter = ({ label, value = '', placeholder, width = 170, onSet }: TextFilterProps): ReactNode => (
  <TextInput
    key={value}
    label={label}
    defaultValue={value}
    w={width}
    maxLength={200}
    {...(placeholder !== undefined && { placeholder })}
    onBlur={({ currentTarget }) => currentTarget.value.trim() !== value && onSet(currentTarget.value.trim() || null)}
    onKeyDown={({ key, currentTarget }) => key === 'Enter' && onSet(currentTarget.value.trim() || null)}
  />
);

/** A time filter: the URL has UTC, the input the reader's time zone. */
export function TimeFilter({
  label,
  value,
  onSet,
}: {
  readonly label: string;
  readonly value: string | undefined;
  readonly onSet: (iso: string | null) => void;
}): ReactNode {
  const shown = value === undefined || Number.isNaN(Date.parse(value)) ? '' : localTime(value);
  return (
    <TextInput
      key={shown}
      label={label}
      type="datetime-local"
      w={210}
      defaultValue={shown}
      onBlur={({ currentTarget }) => {
        const typed = new Date(currentTarget.value);
        const next = Number.isNaN(typed.getTime()) ? null : typed.toISOString();
        if (currentTarget.value !== shown) onSet(next);
      }}
    />
  );
}
