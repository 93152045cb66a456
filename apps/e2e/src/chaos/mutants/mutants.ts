/** A defect that is planted in a bundle, never in the sources: one place of one file, replaced while it is bundled. */
export interface Mutant {
  readonly name: string;
  /** What is wrong with it, as a sentence. */
  readonly defect: string;
  /** Of which program. */
  readonly surface: 'risk-partner' | 'case-gate' | 'ledger-peer' | 'ingest-gateway' | 'console';
  /** From the root of the checkout; TypeScript or SQL. */
  readonly file: string;
  /** Occurs once. */
  readonly find: string;
  readonly replace: string;
  /** The beginning of a promise of the judge that it must break; it may break others, too. */
  readonly breaks: string;
}

/** The judge of `npm run chaos` must catch each of them: see `--mutant`. */
export const MUTANTS: readonly Mutant[] = [
  {
    name: 'claim-forgotten',
    defect: 'A write does not claim its Idempotency-Key.',
    surface: 'ingest-gateway',
    file: 'apps/ingest-gateway/src/domain/write-records.ts',
    find: 'return { ...unit, claim: first ? order.claim : claimOfChannel(order.claim, channel) };',
    replace: 'return unit;',
    breaks: 'every key has one answer',
  },
  {
    name: 'fingerprint-ignored',
    defect: 'Another body under a used Idempotency-Key is answered as a replay.',
    surface: 'ingest-gateway',
    file: 'libs/idempotency/src/claim.ts',
    find: 'const hashes = hasher.hashAll(method, path, body);',
    replace: 'const hashes = hasher.hashAll(method, path, body.subarray(0, 0));',
    breaks: 'every key has one answer',
  },
  {
    name: 'fence-skipped',
    defect: 'A former primary that comes back is written to.',
    surface: 'ingest-gateway',
    file: 'libs/storage/src/database-servers.ts',
    find: 'if (newest === undefined || comparePositions(position, newest) >= 0) return undefined;',
    replace: 'if (newest?.timeline !== -1) return undefined;',
    breaks: 'every acknowledged write is in the rows',
  },
  {
    name: 'stale-eligibility',
    defect: 'The gate trusts an eligibility record that it has read before.',
    surface: 'case-gate',
    file: 'apps/case-gate/src/data/verified-rows.ts',
    find: `if (cached !== undefined && columns.every((column) => isSame(cached.row[column], row[column]))) {
    if (!isOutdated(cached)) return`,
    replace: `if (cached !== undefined) {
    if (isSame !== undefined && isOutdated !== undefined) return`,
    breaks: 'no allow for a revoked subject',
  },
  {
    name: 'not-durable',
    defect: 'Commits do not wait for the disk, nor for the standby.',
    surface: 'ingest-gateway',
    file: 'libs/storage/src/database.ts',
    find: 'const { pid, ...role } = await roleOf(client, mustWrite);',
    replace: `await client.ask({ text: 'SET synchronous_commit = off' });
    const { pid, ...role } = await roleOf(client, mustWrite);`,
    breaks: 'every acknowledged write is in the rows',
  },
  {
    name: 'tree-off-by-one',
    defect: 'The root of a tree with an odd number of leaves leaves one out.',
    surface: 'ingest-gateway',
    file: 'libs/merkle/src/tile-tree.ts',
    find: 'for (let count = 1; count < TILE_WIDTH; count *= 2) {',
    replace: 'for (let count = 2; count < TILE_WIDTH; count *= 2) {',
    breaks: 'every checkpoint',
  },
  {
    name: 'answer-before-commit',
    defect: 'A revocation is answered before it is committed.',
    surface: 'case-gate',
    file: 'apps/case-gate/src/routes/admin-subjects.ts',
    find: `const record = await ports.inAuditedTransaction(context, audited, (tx) =>
        changeSubject(tx, ports, { environment, subjectRef, action, reason, actor }),
      );`,
    replace: `const record = await new Promise<Awaited<ReturnType<typeof changeSubject>>>((resolve, reject) => {
        const change = async (tx: Parameters<typeof changeSubject>[0]) => {
          const changed = await changeSubject(tx, ports, { environment, subjectRef, action, reason, actor });
          resolve(changed);
          return changed;
        };
        ports.inAuditedTransaction(context, audited, change).catch(reject);
      });`,
    breaks: 'no allow for a revoked subject',
  },
  {
    name: 'unknown-as-not-written',
    defect: 'A write whose outcome is unknown is told to be not written.',
    surface: 'ingest-gateway',
    file: 'apps/ingest-gateway/src/domain/write-records.ts',
    find: 'if (error instanceof OutcomeUnknownError) return outcomeUnknown(note, [...idsOf(done), error.transactionId], error);',
    replace: `if (error instanceof OutcomeUnknownError) return new AppError('LEDGER_UNAVAILABLE', 'It was not written.');`,
    breaks: 'nobody was told "not written"',
  },
  {
    name: 'event-forgotten',
    defect: 'One write in sixteen has no event.',
    surface: 'ingest-gateway',
    file: 'apps/ingest-gateway/prisma/migrations/0001_ingest.sql',
    find: "WHERE u.outcome IN ('written', 'existing', 'conflict')",
    replace: "WHERE u.outcome IN ('written', 'existing', 'conflict') AND right(u.event, 1) <> '7'",
    breaks: 'every record of the gateway has its event',
  },
  {
    name: 'delivered-before-it-is',
    defect: 'A webhook that its receiver refused is marked as delivered.',
    surface: 'ledger-peer',
    file: 'apps/ledger-peer/src/domain/deliver-events.ts',
    find: 'if (problem === undefined) {',
    replace: 'if (problem !== null) {',
    breaks: 'every subscriber got every event',
  },
  {
    name: 'row-filter-skipped',
    defect: 'Partners read sensitive rows.',
    surface: 'risk-partner',
    file: 'apps/risk-partner/src/data/row-condition.ts',
    find: '...(canReadSensitive ? [] : [anyOf([`NOT ${alias}.sensitive`])]),',
    replace: '',
    breaks: "nobody saw another's rows",
  },
  {
    name: 'descriptor-leaked',
    defect: 'Each write leaves a file open.',
    surface: 'ingest-gateway',
    file: 'apps/ingest-gateway/src/domain/write-records.ts',
    find: 'let records = nameRecords(order, order.ids);',
    replace: `process.getBuiltinModule('node:fs').openSync('/dev/null');
  let records = nameRecords(order, order.ids);`,
    breaks: 'no process leaks',
  },
  {
    name: 'memory-leaked',
    defect: 'Each write keeps 256 KiB for good.',
    surface: 'ingest-gateway',
    file: 'apps/ingest-gateway/src/domain/write-records.ts',
    find: 'let records = nameRecords(order, order.ids);',
    replace: `((globalThis as { kept?: Buffer[] }).kept ??= []).push(Buffer.alloc(262_144, 1));
  let records = nameRecords(order, order.ids);`,
    breaks: 'no process leaks',
  },
  {
    name: 'session-of-another',
    defect: 'The console asks with the token of whoever was there last.',
    surface: 'console',
    file: 'apps/console/src/domain/access-tokens.ts',
    find: `const known = this.#knownOf(session);
    const kept`,
    replace: `const known = [...this.#known.values()].at(-1) ?? this.#knownOf(session);
    const kept`,
    breaks: 'a session at the console',
  },
  {
    name: 'decision-unlogged',
    defect: 'One decision of the gate in a hundred is not logged.',
    surface: 'case-gate',
    file: 'apps/case-gate/src/data/decision-log.ts',
    find: 'waiting.push({ decision, requester });',
    replace: 'if (decision.seq % 100 !== 7) waiting.push({ decision, requester });',
    breaks: 'every decided check is in the decision log',
  },
];
