import type { ReactNode } from 'react';
import { TextInput } from '@mantine/core';

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
  const date = new Date(value ?? Number.NaN);
  const shown = Number.isNaN(date.getTime())
    ? ''
    : new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
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
