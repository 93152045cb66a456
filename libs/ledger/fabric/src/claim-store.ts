import type { RecordReceipt } from '@sealgate/ledger-port';
import type { Database } from '@sealgate/storage';
import { Grouped } from './grouped.ts';

/** A claim as stored. */
export interface HeldClaim {
  readonly fingerprint: string;
  readonly transactionId: string;
  readonly note: string;
  readonly records: readonly RecordReceipt[];
  /** False while the outcome of its transaction is unknown. */
  readonly settled: boolean;
}

interface ClaimRow {
  readonly claim: Buffer;
  readonly fingerprint: string;
  readonly transaction_id: Buffer;
  readonly note: string;
  readonly receipts: string;
  readonly unsettled: boolean;
}

const READ_WITHIN_MS = 1000;
const MAX_GROUP_SIZE = 256;
const GROUPS_AT_ONCE = 2;

/** Looks up claims. They are taken by the journal's own statement. */
export class ClaimStore {
  readonly #sql: Database;
  readonly #schema: string;
  readonly #lookups: Grouped<Buffer, HeldClaim | undefined>;

  constructor(sql: Database, schema: string) {
    this.#sql = sql;
    this.#schema = schema;
    this.#lookups = new Grouped<Buffer, HeldClaim | undefined>({
      most: MAX_GROUP_SIZE,
      running: GROUPS_AT_ONCE,
      run: (claims) => this.#findAll(claims),
    });
  }

  /** @throws DatabaseUnavailableError. */
  find(claim: Buffer): Promise<HeldClaim | undefined> {
    return this.#lookups.add(claim);
  }

  async #findAll(claims: readonly Buffer[]): Promise<(HeldClaim | undefined)[]> {
    const rows = await this.#sql.query<ClaimRow>(
      {
        name: `${this.#schema} fabric claims`,
        text: `SELECT c.claim, c.fingerprint, c.transaction_id, c.note, c.receipts,
                      t.status IS NOT NULL AND t.status = 'unsettled' AS unsettled
                 FROM ${this.#schema}.fabric_claims c
                 LEFT JOIN ${this.#schema}.fabric_transactions t USING (transaction_id)
                WHERE c.claim = ANY ($1::bytea[])`,
        values: [claims],
      },
      { deadlineMs: READ_WITHIN_MS },
    );
    const held = new Map(rows.map((row) => [row.claim.toString('hex'), heldClaimOf(row)]));
    return claims.map((claim) => held.get(claim.toString('hex')));
  }
}

function heldClaimOf(row: ClaimRow): HeldClaim {
  return {
    fingerprint: row.fingerprint,
    transactionId: row.transaction_id.toString('hex'),
    note: row.note,
    records: JSON.parse(row.receipts) as RecordReceipt[],
    settled: !row.unsettled,
  };
}
