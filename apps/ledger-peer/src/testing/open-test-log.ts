import { Writable } from 'node:stream';
import { createApp, type App, type Route } from '@sealgate/http';
import { embeddedLedger, Integrator, savedCheckpoints } from '@sealgate/ledger-embedded';
import { anyOf, noteSigner, noteVerifier, type generateNoteKey } from '@sealgate/merkle';
import { createLog, httpMetrics, Metrics } from '@sealgate/observability';
import { addressLimiter, memoryLimits } from '@sealgate/rate-limits';
import type { Database } from '@sealgate/storage';
import { ConfiguredKeys } from '../api-keys.ts';
import type { PeerCaller, Signers } from '../domain/caller.ts';
import { peerGuard } from '../peer-guard.ts';

type NoteKeyPair = ReturnType<typeof generateNoteKey>;

/** The embedded ledger with an integrator, opened like a new process on the database and the folder. */
export async function openTestLog({
  sql,
  origin,
  folder,
  signing,
  believed,
  ...more
}: {
  readonly sql: Database;
  /** See `EmbeddedLedgerOptions`. */
  readonly look?: Database;
  readonly origin: string;
  /** Origin of the checkpoints. */
  readonly folder: string;
  /** The signing root keys, the first one first, and the trusted ones. */
  readonly signing: readonly NoteKeyPair[];
  readonly believed: readonly NoteKeyPair[];
}) {
  const verifier = anyOf(believed.map(({ verifierKey }) => noteVerifier(verifierKey)))!;
  const integrator = new Integrator({
    sql,
    origin,
    signer: noteSigner(signing.map(({ privateKey }) => privateKey).join(',')),
    verifier,
    saved: savedCheckpoints(folder, Date.now),
    leavesAtOnce: 65_536,
    deadlineMs: 60_000,
    everyMs: 20,
    compareEveryMs: 60_000,
    now: Date.now,
  });
  await integrator.start();
  return { integrator, ledger: embeddedLedger({ sql, origin, integrator, verifier, now: Date.now, ...more }) };
}

/** The public listener with these routes, high limits, and no other log readers. */
export function testApp({
  routes,
  keyHash,
  isOpen,
  compress = false,
  signers,
}: {
  readonly routes: readonly Route<PeerCaller>[];
  /** SHA-256 of the key, in hex, or a list as configured; empty: no key is needed. */
  readonly keyHash: string;
  /** Whether the log is public. */
  readonly isOpen: boolean;
  readonly compress?: boolean;
  readonly signers?: Signers;
}): App {
  const limits = memoryLimits({ now: Date.now });
  const rate = { ratePerSecond: 1_000_000, burst: 1_000_000 };
  const stream = new Writable({ write: (_chunk, _encoding, done) => done() });
  return createApp({
    log: createLog({ service: 'ledger-peer', level: 'error', stream, now: Date.now }),
    metrics: httpMetrics(new Metrics('ledger-peer', { unknownLabels: 'other' })),
    now: Date.now,
    newId: () => 'req_1',
    trustProxy: false,
    tlsTerminatedUpstream: false,
    head: true,
    compress,
    guard: peerGuard({
      keys: ConfiguredKeys.of(() => keyHash),
      limits,
      addresses: addressLimiter({ limits, listener: 'peer', now: Date.now }),
      rate,
      signers,
      log: { rate, isOpen: () => isOpen },
    }),
    routes,
  });
}
