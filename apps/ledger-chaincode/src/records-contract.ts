import { canonical, type JsonValue } from '@sealgate/json';
import { Contract, type Context } from 'fabric-contract-api';
import { recordState } from './data/record-state.ts';
import { parseRecords } from './domain/parse-records.ts';
import { readHistory, readList, readPage, readRecord } from './domain/read-records.ts';
import type { RecordVersion } from './domain/record.ts';
import { writeRecords } from './domain/write-records.ts';

/**
 * The contract `records`. Each method is a transaction; arguments and results are texts. The same arguments on the same
 * state give the same bytes on every peer: the code uses no clock, randomness or locale.
 */
export class RecordsContract extends Contract {
  constructor() {
    super('records');
  }

  /** Create-once: an id holds one content for ever. @throws Refusal RECORD_CONFLICT, INVALID_REQUEST */
  async createMany(ctx: Context, recordsJson: string): Promise<string> {
    return answer(await writeRecords(recordState(ctx.stub), parseRecords(recordsJson), 'refuse'));
  }

  /** Other content creates a new version. @throws Refusal INVALID_REQUEST */
  async upsertMany(ctx: Context, recordsJson: string): Promise<string> {
    return answer(await writeRecords(recordState(ctx.stub), parseRecords(recordsJson), 'new version'));
  }

  /** The newest version, or no bytes for an unknown id. @throws Refusal INVALID_REQUEST */
  async read(ctx: Context, id: string): Promise<string> {
    const found = await readRecord(recordState(ctx.stub), id);
    return found === undefined ? '' : answer(readable(found));
  }

  /** For evaluation: peers reject paged queries in a transaction that writes. @throws Refusal INVALID_REQUEST */
  async queryByType(ctx: Context, type: string, pageSize: string, bookmark: string): Promise<string> {
    const page = await readPage(recordState(ctx.stub), type, pageSize, bookmark);
    return answer({ records: page.records.map(readable), bookmark: page.bookmark });
  }

  /** All records whose id begins with `prefix`, like `queryByType` for a type. @throws Refusal INVALID_REQUEST */
  async list(ctx: Context, prefix: string, pageSize: string, bookmark: string): Promise<string> {
    const page = await readList(recordState(ctx.stub), prefix, pageSize, bookmark);
    return answer({ records: page.records.map(readable), bookmark: page.bookmark });
  }

  /** The versions of an id, newest first; empty for an unknown id. @throws Refusal INVALID_REQUEST */
  async history(ctx: Context, id: string): Promise<string> {
    const { versions, complete } = await readHistory(recordState(ctx.stub), id);
    return answer({ versions: versions.map(readable), complete });
  }
}

/** The form for clients: data and extra as values. */
function readable({ data, extra, ...rest }: RecordVersion) {
  return {
    ...rest,
    data: JSON.parse(data) as JsonValue,
    extra: extra === null ? null : (JSON.parse(extra) as JsonValue),
  };
}

/** Canonical, so that endorsing peers sign the same bytes. */
function answer(value: object): string {
  return canonical(value as JsonValue);
}
