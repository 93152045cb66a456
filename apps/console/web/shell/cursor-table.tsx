import { useEffect, useRef, type ReactNode } from 'react';
import { Button, Group, LoadingOverlay, Paper, Table, Text } from '@mantine/core';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useLocation, useNavigate, useSearchParams } from 'react-router';
import { Icon } from './icons.tsx';
import { ListError, ListLoading } from './list-states.tsx';
import classes from './cursor-table.module.css';

/** One page of a list, as all surfaces return it. */
export interface ListPage<Row> {
  readonly items: readonly Row[];
  readonly nextCursor?: string | null | undefined;
  /** How many rows the list has: a number, or a text such as `10000+`. */
  readonly total?: number | string | undefined;
}

export interface Column<Row> {
  readonly title: string;
  readonly cell: (row: Row) => ReactNode;
  readonly align?: 'left' | 'right';
  /** CSS width; columns without one share the rest. */
  readonly width?: string;
}

interface CursorTableProps<Row> {
  /** Accessible name of the table. */
  readonly label: string;
  /** Query key: all inputs except the cursor, filters included. */
  readonly queryKey: readonly unknown[];
  readonly load: (cursor: string | undefined, signal: AbortSignal) => Promise<ListPage<Row>>;
  readonly rowKey: (row: Row) => string;
  readonly columns: readonly Column<Row>[];
  /** Shown if the list is empty. */
  readonly empty: ReactNode;
  /** Name of the cursor parameter, for a page with two lists. */
  readonly cursorName?: string;
  /** Refetch interval of the shown page. */
  readonly refetchMs?: number;
  /** Low rows, for lists that people scan. */
  readonly isDense?: boolean;
}

/** A paginated list; the cursor of the current page is in the URL. On narrow screens each row is a card. */
export function CursorTable<Row>(props: CursorTableProps<Row>): ReactNode {
  const { cursorName = 'cursor', queryKey, load, refetchMs } = props;
  const [search] = useSearchParams();
  const cursor = search.get(cursorName) ?? undefined;
  const page = useQuery({
    queryKey: [...queryKey, { cursor }],
    queryFn: ({ signal }) => load(cursor, signal),
    placeholderData: keepPreviousData,
    ...(refetchMs === undefined ? {} : { refetchInterval: refetchMs }),
  });
  if (page.isError && page.data === undefined) {
    return <ListError error={page.error} onRetry={() => void page.refetch()} />;
  }
  if (page.data === undefined)
    return (
      <Paper p="md">
        <ListLoading />
      </Paper>
    );
  return (
    <Paper p={0} pos="relative" className={classes['frame'] ?? ''}>
      <LoadingOverlay visible={page.isPlaceholderData} zIndex={1} overlayProps={{ backgroundOpacity: 0.35 }} />
      {page.isError && <ListError error={page.error} onRetry={() => void page.refetch()} />}
      {page.data.items.length === 0 && cursor === undefined ? props.empty : <Rows {...props} rows={page.data.items} />}
      <Pager
        cursorName={cursorName}
        cursor={cursor}
        nextCursor={page.data.nextCursor ?? undefined}
        total={page.data.total}
      />
    </Paper>
  );
}

/** A short list without pagination (roles, channels of a network), in the same style. */
export function PlainTable<Row>(
  props: Pick<CursorTableProps<Row>, 'label' | 'columns' | 'rowKey' | 'empty' | 'isDense'> & {
    readonly rows: readonly Row[];
  },
): ReactNode {
  return (
    <Paper p={0} className={classes['frame'] ?? ''}>
      {props.rows.length === 0 ? props.empty : <Rows {...props} />}
    </Paper>
  );
}

function Rows<Row>({
  label,
  columns,
  rowKey,
  rows,
  isDense = false,
}: Pick<CursorTableProps<Row>, 'label' | 'columns' | 'rowKey' | 'isDense'> & {
  readonly rows: readonly Row[];
}): ReactNode {
  return (
    <Table
      className={classes['table'] ?? ''}
      verticalSpacing={isDense ? 5 : 'sm'}
      horizontalSpacing="md"
      aria-label={label}
    >
      <Table.Thead>
        <Table.Tr>
          {columns.map(({ title, align = 'left', width }) => (
            <Table.Th key={title} ta={align} w={width}>
              {title}
            </Table.Th>
          ))}
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {rows.map((row) => (
          <Table.Tr key={rowKey(row)}>
            {columns.map(({ title, cell, align = 'left' }) => (
              <Table.Td key={title} data-title={title} ta={align} className="wrap">
                {cell(row)}
              </Table.Td>
            ))}
          </Table.Tr>
        ))}
      </Table.Tbody>
    </Table>
  );
}

interface PagerProps {
  readonly cursorName: string;
  readonly cursor: string | undefined;
  readonly nextCursor: string | undefined;
  readonly total: number | string | undefined;
}

function Pager({ cursorName, cursor, nextCursor, total }: PagerProps): ReactNode {
  const [, setSearch] = useSearchParams();
  const navigate = useNavigate();
  const location = useLocation();
  const top = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (cursor !== undefined) top.current?.parentElement?.scrollIntoView({ block: 'start' });
  }, [cursor]);
  if (cursor === undefined && nextCursor === undefined) {
    if (total === undefined || total === 0) return null;
    return (
      <Text size="sm" c="dimmed" px="md" py="xs" className={classes['pager'] ?? ''}>
        {total.toLocaleString()} in total
      </Text>
    );
  }
  const turnTo = (value: string | undefined): void =>
    setSearch(
      (before) => {
        const next = new URLSearchParams(before);
        if (value === undefined) next.delete(cursorName);
        else next.set(cursorName, value);
        return next;
      },
      { state: { turnedBy: cursorName } },
    );
  const cameByNext = (location.state as { turnedBy?: string } | null)?.turnedBy === cursorName;
  return (
    <Group justify="space-between" px="md" py="sm" className={classes['pager'] ?? ''} ref={top}>
      <Text size="sm" c="dimmed">
        {cursor === undefined ? 'First page' : 'A later page'}
        {total !== undefined && ` of ${total.toLocaleString()} rows`}
      </Text>
      <Group gap="xs">
        {cursor !== undefined && (
          <Button size="xs" variant="default" onClick={() => turnTo(undefined)}>
            First page
          </Button>
        )}
        {cursor !== undefined && cameByNext && (
          <Button
            size="xs"
            variant="default"
            leftSection={<Icon name="back" size={14} />}
            onClick={() => void navigate(-1)}
          >
            Back
          </Button>
        )}
        <Button
          size="xs"
          variant="default"
          rightSection={<Icon name="next" size={14} />}
          disabled={nextCursor === undefined}
          onClick={() => turnTo(nextCursor)}
        >
          Next
        </Button>
      </Group>
    </Group>
  );
}
