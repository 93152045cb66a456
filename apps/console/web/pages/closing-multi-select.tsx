import { useState, type ReactNode } from 'react';
import { MultiSelect, type MultiSelectProps } from '@mantine/core';

/** A MultiSelect whose list closes once something is chosen: in a dialog it would cover the buttons. */
export function ClosingMultiSelect({ onDropdownOpen, ...props }: MultiSelectProps): ReactNode {
  const [isOpen, setOpen] = useState(false);
  return (
    <MultiSelect
      {...props}
      dropdownOpened={isOpen}
      onDropdownOpen={() => {
        setOpen(true);
        onDropdownOpen?.();
      }}
      onDropdownClose={() => setOpen(false)}
      onOptionSubmit={() => setOpen(false)}
    />
  );
}
