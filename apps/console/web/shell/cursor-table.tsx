import { useEffect, useRef, type MouseEvent, type ReactNode } from 'react';
import { Button, Group, LoadingOverlay, Paper, Stack, Table, Text, UnstyledButton } from '@mantine/core';
import { keepPreviousData, useQuery, type UseQueryResult } from '@tanstack/react-query';
import { useLocation, useNavigate, useSearchParams } from 'react-router';
import { Icon } from './icons.tsx';
import { ListEmpty, ListError, ListLoading } from './list-states.tsx';
import { quoted } from './quoted.ts';
import { fieldOf, ListBar, turned, useAsked, type Asked, type ListTools } from './list-tools.tsx';
import * as texts from './texts.ts';
import { totalInWords, type Total } from './total.ts';
import classes from './cursor-table.module.css';

/** One page of a list, as all surfaces return it. */
export interface ListPage<Row> {
  readonly items: readonly Row[];
  readonly nextCursor?: string | null | undefined;
  readonly total?: Total | undefined;
}

export interface Column<Row> {
  readonly title: string;
  readonly cell: (row: Row) => ReactNode;
  readonly align?: 'left' | 'right';
  /** CSS width; columns without one share the rest. */
  readonly width?: string;
  /** The order that the head of the column asks for first; `-` is descending. The next click turns it round. */
  readonly sort?: string;
  /** In dense lists: content that has to be read whole, so it takes the lines that it needs. */
  readonly wraps?: boolean;
}

/** Which page of a list: what is asked of the list, and the cursor of the page. */
export type PageAt = Asked & { readonly cursor?: string };

/** How a page is read, and its key. */
export interface PageQuery<Row> {
  readonly queryKey: readonly unknown[];
  readonly queryFn: (context: { readonly signal: AbortSignal }) => Promise<ListPage<Row>>;
}

interface CursorTableProps<Row> {
  /** Accessible name of the table. */
  readonly label: string;
  /** See `listed`. */
  readonly page: (at: PageAt) => PageQuery<Row>;
  readonly rowKey: (row: Row) => string;
  readonly columns: readonly Column<Row>[];
  /** Shown if the list is empty. */
  readonly empty: ReactNode;
  /** Name of the cursor parameter, for a page with two lists. */
  readonly cursorName?: string;
  /** Refetch interval of the shown page. */
  readonly refetchMs?: number;
  /**
   * One line a row where there is room for columns, as lists that people scan have it; what is cut off is the title of its
   * cell. Default: true for lists that page.
   */
  readonly isDense?: boolean;
  /** Search, order, total and export. */
  readonly tools?: ListTools;
}

/**
 * A paginated list; words, order and the cursor of the current page are in the URL. On narrow screens each row is a
 * card.
 */
export function CursorTable<Row>(props: CursorTableProps<Row>): ReactNode {
  const { cursorName = 'cursor', refetchMs, tools, columns, label } = props;
  const [search] = useSearchParams();
  const cursor = search.get(cursorName) ?? undefined;
  const [asked, ask] = useAsked(tools, cursorName);
  const page = useQuery({
    ...props.page({ ...asked, ...(cursor !== undefined && { cursor }) }),
    placeholderData: keepPreviousData,
    ...(refetchMs === undefined ? {} : { refetchInterval: refetchMs }),
  });
  const body = <Body {...props} cursorName={cursorName} cursor={cursor} asked={asked} ask={ask} page={page} />;
  if (tools === undefined) return body;
  const orders = columns.flatMap(({ sort, title }) => (sort === undefined ? [] : [{ sort, title }]));
  const total = page.isPlaceholderData ? undefined : page.data?.total;
  return (
    <Stack gap="sm">
      <ListBar label={label} tools={tools} asked={asked} ask={ask} total={total} orders={orders} />
      {body}
    </Stack>
  );
}

interface BodyProps<Row> extends Omit<CursorTableProps<Row>, 'page'> {
  readonly cursorName: string;
  readonly cursor: string | undefined;
  readonly asked: Asked;
  readonly ask: (change: Asked) => void;
  readonly page: UseQueryResult<ListPage<Row>>;
}

/** The rows, or the state in their place. */
function Body<Row>(props: BodyProps<Row>): ReactNode {
  const { page, cursor, cursorName, tools, asked, ask, isDense = true } = props;
  if (page.isError && page.data === undefined) {
    return (
      <Stack gap="xs">
        <ListError error={page.error} onRetry={() => void page.refetch()} />
        <Pager cursorName={cursorName} cursor={cursor} nextCursor={undefined} total={undefined} />
      </Stack>
    );
  }
  if (page.data === undefined)
    return (
      <Paper p="md">
        <ListLoading />
      </Paper>
    );
  const { items, nextCursor, total } = page.data;
  const empty = asked.q === undefined ? props.empty : <NothingFound words={asked.q} onClear={() => ask({ q: '' })} />;
  return (
    <Paper p={0} pos="relative" className={classes['frame'] ?? ''} aria-busy={page.isPlaceholderData}>
      <LoadingOverlay visible={page.isPlaceholderData} zIndex={1} overlayProps={{ backgroundOpacity: 0.35 }} />
      {page.isError && <ListError error={page.error} onRetry={() => void page.refetch()} />}
      {items.length === 0 && cursor === undefined ? (
        empty
      ) : (
        <Rows
          {...props}
          isDense={isDense}
          rows={items}
          {...(tools?.order !== undefined && { order: asked.sort, onOrder: (sort: string) => ask({ sort }) })}
        />
      )}
      <Pager
        cursorName={cursorName}
        cursor={cursor}
        nextCursor={nextCursor ?? undefined}
        // With tools the total is above the list.
        total={tools === undefined ? total : undefined}
      />
    </Paper>
  );
}

const NothingFound = ({ words, onClear }: { readonly words: string; readonly onClear: () => void }): ReactNode => (
  <ListEmpty
    title={texts.nothingMatchesTheseWords}
    icon="search"
    action={
      <Button variant="default" size="xs" onClick={onClear}>
        {texts.clearTheSearch}
      </Button>
    }
  >
    {texts.nothingMatchesHint(quoted(words))}
  </ListEmpty>
);

type PlainTableProps<Row> = Pick<CursorTableProps<Row>, 'label' | 'columns' | 'rowKey' | 'empty' | 'isDense'> &
  Pick<RowsProps<Row>, 'rows' | 'isMarked'>;

/** A short list without pagination (roles, channels of a network), in the same style. */
export const PlainTable = <Row,>(props: PlainTableProps<Row>): ReactNode => (
  <Paper p={0} className={classes['frame'] ?? ''}>
    {props.rows.length === 0 ? props.empty : <Rows {...props} />}
  </Paper>
);

interface RowsProps<Row> extends Pick<CursorTableProps<Row>, 'label' | 'columns' | 'rowKey' | 'isDense'> {
  readonly rows: readonly Row[];
  /** The rows that stand out. */
  readonly isMarked?: (row: Row) => boolean;
  readonly order?: string | undefined;
  readonly onOrder?: (sort: string) => void;
}

/** The whole text of a cell, on hover, where it is cut off. */
function showWhole({ currentTarget: cell }: MouseEvent<HTMLTableCellElement>): void {
  const isCut = [cell, ...cell.querySelectorAll('.wrap')].some((part) => part.scrollWidth > part.clientWidth);
  cell.title = isCut ? cell.innerText : '';
}

function Rows<Row>(props: RowsProps<Row>): ReactNode {
  const { label, columns, rowKey, rows, isMarked, isDense = false, order, onOrder } = props;
  return (
    <Table
      className={classes['table'] ?? ''}
      verticalSpacing={isDense ? 5 : 'sm'}
      horizontalSpacing={isDense ? 9 : 'md'}
      aria-label={label}
      data-dense={isDense || undefined}
    >
      <Table.Thead>
        <Table.Tr>
          {columns.map((column) => (
            <Head key={column.title} column={column} order={order} onOrder={onOrder} />
          ))}
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {rows.map((row) => (
          <Table.Tr key={rowKey(row)} data-marked={isMarked?.(row) === true || undefined}>
            {columns.map(({ title, cell, align = 'left', width, wraps }) => (
              <Table.Td
                key={title}
                data-title={title}
                data-sized={width !== undefined || undefined}
                data-wraps={wraps}
                ta={align}
                className="wrap"
                {...(isDense && wraps !== true && { onMouseEnter: showWhole })}
              >
                {cell(row)}
              </Table.Td>
            ))}
          </Table.Tr>
        ))}
      </Table.Tbody>
    </Table>
  );
}

interface HeadProps {
  readonly column: Pick<Column<never>, 'title' | 'align' | 'width' | 'wraps' | 'sort'>;
  readonly order: string | undefined;
  readonly onOrder: ((sort: string) => void) | undefined;
}

/** The head of a column; one that the list can be ordered by is a button. */
function Head({ column, order, onOrder }: HeadProps): ReactNode {
  const { title, align = 'left', width, sort, wraps } = column;
  if (sort === undefined || onOrder === undefined)
    return (
      <Table.Th ta={align} w={width} data-sized={width !== undefined || undefined} data-wraps={wraps}>
        {title}
      </Table.Th>
    );
  const shown = order !== undefined && fieldOf(order) === fieldOf(sort) ? order : undefined;
  const direction = shown?.startsWith('-') ? 'descending' : 'ascending';
  return (
    <Table.Th
      ta={align}
      w={width}
      data-sized={width !== undefined || undefined}
      data-wraps={wraps}
      aria-sort={shown === undefined ? 'none' : direction}
    >
      <UnstyledButton
        className={classes['sorter'] ?? ''}
        onClick={() => onOrder(shown === undefined ? sort : turned(shown))}
      >
        {title}
        <span aria-hidden="true" className={classes['arrow']}>
          {shown === undefined ? '↕' : direction === 'ascending' ? '↑' : '↓'}
        </span>
      </UnstyledButton>
    </Table.Th>
  );
}

interface PagerProps {
  readonly cursorName: string;
  readonly cursor: string | undefined;
  readonly nextCursor: string | undefined;
  readonly total: Total | undefined;
}

/** Which page it is, and of how many rows if that is known. */
function placeOf(cursor: string | undefined, total: Total | undefined): string {
  if (total === undefined) return cursor === undefined ? texts.firstPage : texts.aLaterPage;
  const rows = totalInWords(total);
  return cursor === undefined ? texts.firstPageOfRows(rows) : texts.aLaterPageOfRows(rows);
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
        {texts.inTotal(totalInWords(total))}
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
        {placeOf(cursor, total)}
      </Text>
      <Group gap="xs">
        {cursor !== undefined && (
          <Button size="xs" variant="default" onClick={() => turnTo(undefined)}>
            {texts.firstPage}
          </Button>
        )}
        {cursor !== undefined && cameByNext && (
          <Button
            size="xs"
            variant="default"
            leftSection={<Icon name="back" size={14} />}
            onClick={() => void navigate(-1)}
          >
            {texts.back}
          </Button>
        )}
        <Button
          size="xs"
          variant="default"
          rightSection={<Icon name="next" size={14} />}
          disabled={nextCursor === undefined}
          onClick={() => turnTo(nextCursor)}
        >
          {texts.next}
        </Button>
      </Group>
    </Group>
  );
}
