import { DOOR_DEADLINE_MS, type GatePorts } from './ask-gate.ts';
import * as texts from './texts.ts';

/** The settings of a tablet. */
export interface Post {
  readonly key: string;
  readonly venueId: string;
}

/** Why a post cannot be used, by the field that must change; `service` if neither is known to be wrong. */
export type PostFault = { readonly at: 'key' | 'venue' | 'service'; readonly says: string };

const UNREACHED: PostFault = {
  at: 'service',
  says: texts.serviceUnreachable,
};

const FAULTS: Readonly<Record<number, PostFault>> = {
  401: { at: 'key', says: texts.keyUnknown },
  403: { at: 'key', says: texts.keyLacksScope },
  404: { at: 'venue', says: texts.venueUnknown },
  429: { at: 'service', says: texts.tooManyRequests },
};

/**
 * What is wrong with venue and key: every fault of their form or, sent to the gate, whether it knows the key and the
 * key's environment has the venue. Asks about no subject. Never throws.
 */
export async function testPost(ports: Pick<GatePorts, 'fetch'>, post: Post): Promise<readonly PostFault[]> {
  const faults = formFaults(post);
  if (faults.length > 0) return faults;
  const refused = await refusalOf(ports, post);
  return refused === undefined ? [] : [refused];
}

async function refusalOf({ fetch }: Pick<GatePorts, 'fetch'>, post: Post): Promise<PostFault | undefined> {
  try {
    const response = await fetch(`/api/case-gate/v1/gate/venues/${post.venueId}`, {
      headers: { 'X-Api-Key': post.key },
      cache: 'no-store',
      credentials: 'omit',
      redirect: 'error',
      signal: AbortSignal.timeout(DOOR_DEADLINE_MS),
    });
    if (response.status !== 200) return FAULTS[response.status] ?? UNREACHED;
    const { venue_id: venueId, active } = (await response.json()) as { venue_id?: unknown; active?: unknown };
    if (venueId !== post.venueId) return UNREACHED;
    return active === true ? undefined : { at: 'venue', says: texts.venueClosed };
  } catch {
    return UNREACHED;
  }
}

function formFaults({ key, venueId }: Post): readonly PostFault[] {
  const faults: PostFault[] = [];
  if (!/^[A-Za-z0-9_-]{1,64}$/.test(venueId)) faults.push({ at: 'venue', says: texts.venueFault });
  if (!/^gk_[A-Za-z0-9_-]{43}$/.test(key)) faults.push({ at: 'key', says: texts.keyFault });
  return faults;
}
