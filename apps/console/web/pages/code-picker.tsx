import { useState, type ReactNode } from 'react';
import { Select, type ComboboxItem } from '@mantine/core';
import { offered } from './offered-codes.ts';
import * as texts from './texts.ts';

interface CodePickerProps {
  readonly label: string;
  readonly value: string | undefined;
  /** The codes that are offered, each in words. */
  readonly choices: readonly ComboboxItem[];
  readonly width?: number;
  readonly onSet: (value: string | null) => void;
}

const has = (text: string, words: string): boolean => text.toLowerCase().includes(words.toLowerCase());

/** Chooses a code by its words; another one can be typed. */
export function CodePicker({ label, value, choices, width = 220, onSet }: CodePickerProps): ReactNode {
  const [typed, setTyped] = useState('');
  const data = offered(choices, value, typed);
  const title = data.find((one) => one.value === value)?.label;
  return (
    <Select
      label={label}
      w={width}
      searchable
      clearable
      placeholder={texts.all}
      selectFirstOptionOnChange
      maxDropdownHeight={320}
      value={value ?? null}
      data={data}
      // What is chosen stands in the box, which is no search for it.
      filter={({ options, search }) =>
        search.trim() === '' || search === title
          ? options
          : (options as ComboboxItem[]).filter((one) => has(`${one.label} ${one.value}`, search.trim()))
      }
      onSearchChange={setTyped}
      onChange={onSet}
      clearButtonProps={{ 'aria-label': texts.clear(label) }}
    />
  );
}
