import { setTimeout as delay } from 'node:timers/promises';
import { OPERATOR_SUBJECTS, STRANGER_SUBJECT } from '../console-settings.ts';
import { nowMs } from '../now.ts';
import type { SiteProvider } from '../provider/site-provider.ts';
import type { Random } from '../random.ts';
import { STORED, type Site } from '../site.ts';
import { Browser, type CopiedCookie, type Visit } from './browser.ts';
import type { Client } from './client.ts';
import { Recent, type Step } from './load.ts';

/** People are slower than programs. */
const MOST_PAUSE_MS = 100;
const RETRY_MS = 200;
const ADDS = 0.1;
const LOOKS = 0.15;
/** After how long people sign out, drawn at each step; some never do. */
const SESSION_MS = { least: 8_000, most: 300_000 } as const;
const STAYING = 2;

const LISTS = ['whoami', 'audit?limit=3', 'waiting'] as const;

/** Operators at the console, each in a browser; and a stranger, who also tries cookies of those who signed out. */
export function consoleSteps(
  site: Site,
  provider: SiteProvider,
  client: Client,
): Readonly<Record<'operate' | 'intrude', Step>> {
  const surfaces = STORED.filter((surface) => site.replicasOf(surface).length > 0);
  const open = (subject: string): Browser => new Browser({ subject, client, provider });
  const idle = OPERATOR_SUBJECTS.map(open);
  const staying = new Set(idle.slice(0, STAYING));
  const copied = new Recent<CopiedCookie>(20);
  const readingOf = (random: Random): string => `/admin/${random.pick(surfaces)}/admin/v1/${random.pick(LISTS)}`;

  const operated = async (browser: Browser, random: Random): Promise<void> => {
    const { signedInAtMs } = browser;
    if (signedInAtMs === undefined) return browser.signIn(random);
    const isOver = nowMs() - signedInAtMs > random.between(SESSION_MS.least, SESSION_MS.most);
    if (isOver && !staying.has(browser)) {
      const cookie = await browser.signOut(random);
      if (cookie !== undefined) copied.add(cookie);
      return;
    }
    const draw = random.next();
    const replica = random.below(2);
    if (draw < ADDS && surfaces.includes('ingest-gateway')) return addNetwork(client, browser, random);
    if (draw < ADDS + LOOKS) return browser.look(replica);
    const told = await browser.visit({ act: 'read', path: readingOf(random) }, replica);
    if (told?.status === 401) await browser.look(replica);
  };
  const operate: Step = async (random) => {
    const [browser] = idle.splice(random.below(idle.length), 1);
    if (browser === undefined) return;
    try {
      await delay(random.below(MOST_PAUSE_MS));
      await operated(browser, random);
    } finally {
      idle.push(browser);
    }
  };

  const stranger = open(STRANGER_SUBJECT);
  const intrude: Step = async (random) => {
    await delay(random.below(MOST_PAUSE_MS));
    const replica = random.below(2);
    const cookie = random.chance(0.5) ? copied.pick(random) : undefined;
    if (cookie !== undefined) return tryCopied(client, cookie, { path: readingOf(random), replica });
    if (stranger.signedInAtMs === undefined) return stranger.signIn(random);
    const told = random.chance(0.2)
      ? await stranger.visit(addingNetwork('foreign', random), replica)
      : await stranger.visit({ act: 'foreign', path: readingOf(random) }, replica);
    if (told?.status === 401) await stranger.look(replica);
  };
  return { operate, intrude };
}

function addingNetwork(act: 'add-network' | 'foreign', random: Random): Visit {
  const networkId = `op-${random.text(16)}`;
  const path = '/admin/ingest-gateway/admin/v1/networks';
  return { act, method: 'POST', path, body: { networkId, channels: ['main'] }, sent: { networkId } };
}

/** Adds a network; repeated as the pages say until its outcome is known, or the person has to sign in again. */
async function addNetwork(client: Client, browser: Browser, random: Random): Promise<void> {
  const adding = addingNetwork('add-network', random);
  while (nowMs() < client.giveUpAtMs && browser.signedInAtMs !== undefined) {
    const replica = random.below(2);
    const told = await browser.visit(adding, replica);
    if (told?.status === 401) await browser.look(replica);
    else if (told !== undefined && told.status < 500 && told.status !== 429) return;
    await delay(RETRY_MS);
  }
}

/** Somebody kept the cookie of one who has signed out. */
async function tryCopied(
  client: Client,
  { subject, session, cookie }: CopiedCookie,
  { path, replica }: { readonly path: string; readonly replica: number },
): Promise<void> {
  await client.ask(
    {
      ...{ surface: 'console', act: 'copied', as: subject, method: 'GET', path },
      ...{ headers: { Cookie: cookie }, sent: { session } },
    },
    replica,
  );
}
