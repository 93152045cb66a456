import type { Sorting } from '@sealgate/paging';
import type { Member } from './manage-orgs.ts';
import type { Place } from './resource-ports.ts';

/** What the list of people can be sorted by. */
export const PEOPLE_SORTS = ['createdAt', 'name'] as const;

export interface PeoplePage {
  readonly limit: number;
  readonly after: Place | undefined;
  readonly q: string | undefined;
  readonly sorting: Sorting<(typeof PEOPLE_SORTS)[number]>;
}

/** The people of an organisation, without removed ones. */
export interface PeopleDirectory {
  list(
    orgId: string,
    page: PeoplePage,
  ): Promise<{
    /** The places of the page, each with its person; undefined if they were removed meanwhile. */
    readonly found: readonly { readonly place: Place; readonly member: Member | undefined }[];
    /** How many people are asked for, COUNT_LIMIT at most. */
    readonly counted: number;
  }>;
}
