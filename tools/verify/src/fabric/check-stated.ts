import { canonical, type JsonValue } from '@sealgate/json';
import type { Reporter } from '../report.ts';
import { isObject, type JsonObject, type Place } from '../shape.ts';
import type { FabricProofFile } from './proof-file.ts';

/** A record, as the contract returned it to the peers that signed. */
export interface SignedRecord {
  readonly id: string;
  readonly type: string;
  readonly contentHash: string;
  readonly transactionId: string;
  readonly version: number;
  readonly all: JsonObject;
}

/** What a sender says that a record holds. */
export interface GivenContent {
  readonly where: string;
  /** The data, or a saved record with it. */
  readonly value: JsonValue;
  /** Whether it has only some of the members of the data. */
  readonly isPart?: boolean;
}

/** Of a receipt, in addition to what the contract returned: the ledger peer's own names of the channel. */
const NAMES = ['network', 'channel'];
const RECEIPT_MEMBERS = ['id', 'type', 'owner', 'extra', 'version', 'contentHash', 'transactionId', 'at'];

/**
 * What the sender says beside the proof agrees with it, and says nothing more. In a shared channel ids and types have a
 * prefix.
 */
export function checkStated(
  report: Reporter,
  { receipt, asset, record: shown }: FabricProofFile,
  record: SignedRecord,
): void {
  const prefix = receipt === undefined ? '' : prefixOf(receipt, record);
  const named = { id: record.id.slice(prefix.length), type: record.type.slice(prefix.length) };
  const proved: JsonObject = { ...record.all, ...named };
  const compare = (step: string, place: Place, members: readonly string[], more: readonly string[] = []) => {
    const found = Object.keys(place.object).filter((member) => !more.includes(member));
    const differing = [...new Set([...members, ...found])].filter((member) => {
      const [stated, meant] = [place.object[member], members.includes(member) ? proved[member] : undefined];
      return stated === undefined || meant === undefined || canonical(stated) !== canonical(meant);
    });
    if (differing.length === 0) report.ok(step, `The ${step} is what was proved.`);
    else report.failed(step, { detail: `Not as proved: ${differing.join(', ')}.`, where: place.where });
  };
  if (receipt !== undefined) {
    compare('receipt', receipt, RECEIPT_MEMBERS, NAMES);
    checkNames(report, receipt, prefix !== '');
  }
  if (asset !== undefined) compare('asset', asset, Object.keys(proved));
  if (shown !== undefined) checkShown(report, shown, { ...proved, ...namesIn(receipt) });
}

const namesIn = (receipt: Place | undefined): JsonObject =>
  Object.fromEntries(NAMES.flatMap((name) => (receipt === undefined ? [] : [[name, receipt.object[name] ?? null]])));

/** A record beside the receipt: perhaps only its data, but nothing that was not proved. */
function checkShown(report: Reporter, { object, where }: Place, proved: JsonObject): void {
  const differing = differingIn(object, proved);
  if (differing.length === 0) report.ok('content', 'The content is what was proved.');
  else report.failed('content', { detail: `Not as proved: ${differing.join(', ')}.`, where });
}

const differingIn = (stated: JsonObject, proved: JsonObject): string[] =>
  Object.entries(stated).flatMap(([member, value]) =>
    Object.hasOwn(proved, member) && canonical(value) === canonical(proved[member]!) ? [] : [member],
  );

export function checkContent(
  report: Reporter,
  { where, value, isPart = false }: GivenContent,
  { all }: SignedRecord,
): void {
  const data = all['data'] ?? null;
  const isSame = (one: JsonValue | undefined) => one !== undefined && canonical(one) === canonical(data);
  const isWhole = isSame(value) || (isObject(value) && isSame(value['data']));
  const isIn = isPart && isObject(value) && isObject(data) && differingIn(value, data).length === 0;
  if (isWhole || isIn) return report.ok('content', 'The content is what was proved.');
  report.failed('content', {
    detail: 'This is not the content that was proved.',
    where,
    expected: canonical(data),
    found: canonical(value),
  });
}

/** The channel's name is part of a record's id only where several channels share one of Fabric. */
function checkNames(report: Reporter, { where, object: { network, channel } }: Place, isProved: boolean): void {
  if (typeof network !== 'string' || typeof channel !== 'string' || !channel.startsWith(`${network}.`))
    report.failed('receipt', { detail: 'Its channel is not one of its network.', where });
  else if (!isProved)
    report.note(`That the channel is called ${channel} is the word of the ledger peer: nobody signed that name.`);
}

/** The prefix that a Fabric channel of several channels puts before their ids and types. */
function prefixOf({ object }: Place, { id, type }: SignedRecord): string {
  const prefix = `${String(object['channel'])}/`;
  return id === `${prefix}${String(object['id'])}` && type === `${prefix}${String(object['type'])}` ? prefix : '';
}
