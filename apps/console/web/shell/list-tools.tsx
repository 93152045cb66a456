import { useState, type ReactNode } from 'react';
import { ActionIcon, Group, Select, Stack, Text, TextInput } from '@mantine/core';
import { useDebouncedCallback } from '@mantine/hooks';
import { useSearchParams } from 'react-router';
import { ExportMenu, ExportProgress, useExport, type ExportOf } from './export-menu.tsx';
import { Icon } from './icons.tsx';
import * as texts from './texts.ts';
import { totalInWords, type Total } from './total.ts';
import classes from './cursor-table.module.css';

/** What the reader asks of a list: words and an order. */
export interface Asked {
  readonly q?: string;
  readonly sort?: string;
}

/** How a list is searched, ordered and exported. What is not given is not offered. */
export interface ListTools {
  /** What the words of a search are a part of: "Words in title, reference or id". */
  readonly searches?: string;
  /** The order without one in the URL: a column's `sort`. */
  readonly order?: string;
  readonly exports?: ExportOf | undefined;
}

const NOTHING: Asked = {};

/** The words and the order in the URL. Setting one begins at the first page. */
export function useAsked(
  tools: ListTools | undefined,
  cursorName: string,
): readonly [Asked, (change: Asked, isReplaced?: boolean) => void] {
  const [search, setSearch] = useSearchParams();
  const ask = (change: Asked, isReplaced = false): void =>
    setSearch(
      (before) => {
        const next = new URLSearchParams(before);
        next.delete(cursorName);
        for (const [name, value] of Object.entries(change)) {
          const isDefault = !value || (name === 'sort' && value === tools?.order);
          if (isDefault) next.delete(name);
          else next.set(name, String(value));
        }
        return next;
      },
      { replace: isReplaced },
    );
  if (tools === undefined) return [NOTHING, ask];
  const q = (tools.searches !== undefined && search.get('q')) || undefined;
  const sort = (tools.order !== undefined && search.get('sort')) || tools.order;
  return [{ ...(q !== undefined && { q }), ...(sort !== undefined && { sort }) }, ask];
}

export const fieldOf = (sort: string): string => sort.replace(/^-/, '');

/** The other direction of the same field. */
export const turned = (sort: string): string => (sort.startsWith('-') ? fieldOf(sort) : `-${sort}`);

interface BarProps {
  readonly label: string;
  readonly tools: ListTools;
  readonly asked: Asked;
  readonly ask: (change: Asked, isReplaced?: boolean) => void;
  readonly total: Total | undefined;
  /** Fields to order by, with their titles. */
  readonly orders: readonly { readonly sort: string; readonly title: string }[];
}

/** The order in which rows were made has no column in some lists. */
const ordersOf = (order: string | undefined, orders: BarProps['orders']): BarProps['orders'] =>
  order === undefined || orders.some(({ sort }) => fieldOf(sort) === fieldOf(order))
    ? orders
    : [{ sort: order, title: texts.created }, ...orders];

/** Above a list: its search box, its total, and its export. */
export function ListBar({ label, tools, asked, ask, total, orders }: BarProps): ReactNode {
  const offered = ordersOf(tools.order, orders);
  const exporting = useExport(tools.exports && { ...tools.exports, query: { ...tools.exports.query, ...asked } });
  return (
    <Stack gap="xs">
      <Group gap="sm" align="flex-end" justify="space-between">
        <Group gap="sm" align="flex-end" flex="1 1 16rem" role="search" aria-label={texts.searchIn(label)}>
          {tools.searches !== undefined && (
            <SearchBox looksIn={tools.searches} value={asked.q ?? ''} onSearch={(q, typed) => ask({ q }, typed)} />
          )}
          {tools.order !== undefined && (
            <Select
              className={classes['order'] ?? ''}
              label={texts.order}
              allowDeselect={false}
              value={asked.sort ?? null}
              data={offered.flatMap(({ sort, title }) =>
                [sort, turned(sort)].map((value) => ({
                  value,
                  label: value.startsWith('-') ? texts.descendingBy(title) : texts.ascendingBy(title),
                })),
              )}
              onChange={(sort) => sort !== null && ask({ sort })}
            />
          )}
        </Group>
        <Group gap="sm">
          <Text size="sm" c="dimmed" role="status" aria-label={texts.total}>
            {total !== undefined && texts.rows(total, totalInWords(total))}
          </Text>
          {tools.exports !== undefined && <ExportMenu {...exporting} />}
        </Group>
      </Group>
      <ExportProgress {...exporting} total={total} />
    </Stack>
  );
}

const SEARCHED_AFTER_MS = 300;
const MAX_WORDS = 100;

interface SearchProps {
  readonly looksIn: string;
  readonly value: string;
  /** `isTyping`: replaces the words that were searched for while typing. */
  readonly onSearch: (words: string, isTyping: boolean) => void;
}

/** Searches while typing, and at once on Enter. One history entry for each visit to the box. */
function SearchBox({ looksIn, value, onSearch }: SearchProps): ReactNode {
  const [text, setText] = useState(value);
  const [sent, setSent] = useState(value);
  const [seen, setSeen] = useState(value);
  const [isTyping, setTyping] = useState(false);
  if (seen !== value) {
    setSeen(value);
    // Changed by back, a link, or a button; not by this box.
    if (value !== sent) {
      setSent(value);
      setText(value);
    }
  }
  const search = (words: string): void => {
    const next = words.trim();
    if (next === sent) return;
    setSent(next);
    setTyping(true);
    onSearch(next, isTyping);
  };
  const later = useDebouncedCallback(search, SEARCHED_AFTER_MS);
  return (
    <TextInput
      type="search"
      label={texts.search}
      description={looksIn}
      flex="0 1 22rem"
      maxLength={MAX_WORDS}
      value={text}
      leftSection={<Icon name="search" size={16} />}
      rightSection={
        text !== '' && (
          <ActionIcon
            variant="subtle"
            color="gray"
            size="sm"
            aria-label={texts.clearTheSearch}
            onClick={() => {
              setText('');
              search('');
            }}
          >
            <Icon name="cross" size={14} />
          </ActionIcon>
        )
      }
      onChange={({ currentTarget }) => {
        setText(currentTarget.value);
        later(currentTarget.value);
      }}
      onKeyDown={({ key, currentTarget }) => key === 'Enter' && search(currentTarget.value)}
      onBlur={({ currentTarget }) => {
        search(currentTarget.value);
        setTyping(false);
      }}
    />
  );
}
