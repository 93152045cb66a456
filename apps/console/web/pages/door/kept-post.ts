import type { Post } from './test-post.ts';

const NAME = 'sealgate-door';

/** Settings that were kept in this tab, if the steward wanted it. */
export function keptPost(): Post | undefined {
  try {
    const { key, venueId } = JSON.parse(sessionStorage.getItem(NAME) ?? '{}') as Partial<Post>;
    return typeof key === 'string' && typeof venueId === 'string' ? { key, venueId } : undefined;
  } catch {
    return undefined;
  }
}

/** Keeps settings until the tab is closed: a reload does not ask for them again. */
export function keepPost(post: Post): void {
  try {
    sessionStorage.setItem(NAME, JSON.stringify(post));
  } catch {
    // A browser that stores nothing: they stay in the memory of the page.
  }
}

export function forgetPost(): void {
  try {
    sessionStorage.removeItem(NAME);
  } catch {
    // Nothing was stored.
  }
}
