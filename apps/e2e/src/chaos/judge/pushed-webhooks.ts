import { createHmac, timingSafeEqual } from 'node:crypto';
import type { Known, Pushed } from '../history.ts';
import { Findings, type Check } from './check.ts';
import { isObject, membersOf } from './canonical.ts';

interface Subscription {
  readonly channel: string;
  readonly secret: Buffer;
  readonly from: number;
  /** The ids of acknowledged events by their first index. */
  readonly acknowledged: Map<number, { readonly id: string; readonly transactionId: string; readonly number: number }>;
  /** The first index of the newest event that was acknowledged for the first time. */
  newest: number;
}

/** The first record of each transaction, and its id. */
type Transactions = Map<number, string>;

/** A subscriber gets each transaction once acknowledged, signed, in the order of the ledger; repetitions are told by their id. */
export function pushedWebhooks(): Check {
  const findings = new Findings('every subscriber got every event, signed and in order');
  const subscriptions = new Map<string, Subscription>();
  const transactions = new Map<string, { readonly firsts: Transactions; last: string }>();

  const know = ({ subscriptions: all }: Known): void => {
    for (const { subscription, channel, secret, from } of all)
      subscriptions.set(subscription, {
        ...{ channel, from, acknowledged: new Map(), newest: -1 },
        secret: Buffer.from(secret.replace(/^whsec_/, ''), 'base64'),
      });
  };
  const push = (pushed: Pushed, number: number): void => {
    const subscription = subscriptions.get(pushed.subscription);
    const breach =
      subscription === undefined ? 'a webhook of an unknown subscription' : breachOfPush(subscription, pushed, number);
    findings.judge(breach && `line ${number}: ${breach}`);
  };
  return {
    line(line, number) {
      if (line.is === 'known') know(line);
      if (line.is === 'pushed') push(line, number);
    },
    record({ channel, index, transactionId }) {
      const known = transactions.get(channel) ?? { firsts: new Map(), last: '' };
      transactions.set(channel, known);
      if (known.last !== transactionId) known.firsts.set(index, transactionId);
      known.last = transactionId;
    },
    close(databases) {
      for (const [name, { channel, from, acknowledged }] of databases.has('ledger-peer') ? subscriptions : []) {
        const firsts: Transactions = transactions.get(channel)?.firsts ?? new Map();
        for (const [index, transactionId] of firsts)
          if (index >= from && acknowledged.get(index)?.transactionId !== transactionId)
            findings.add(`${name} was not told of the transaction at ${channel}/${index}`);
        for (const [index, { number }] of acknowledged)
          if (!firsts.has(index)) findings.add(`line ${number}: no transaction begins at ${channel}/${index}`);
      }
      return Promise.resolve(findings.verdict());
    },
  };
}

function breachOfPush(
  subscription: Subscription,
  { headers, text, status }: Pushed,
  number: number,
): string | undefined {
  const { 'webhook-id': id = '', 'webhook-timestamp': at = '', 'webhook-signature': signatures = '' } = headers;
  const mac = createHmac('sha256', subscription.secret).update(`${id}.${at}.${text}`).digest();
  const isSigned = signatures.split(' ').some((one) => {
    const bytes = Buffer.from(one.replace(/^v1,/, ''), 'base64');
    return bytes.length === mac.length && timingSafeEqual(bytes, mac);
  });
  if (!isSigned) return 'a webhook without a valid signature';
  const { data } = membersOf(text);
  const { blockNumber, transactionId, channel } = isObject(data) ? data : {};
  if (typeof blockNumber !== 'number' || channel !== subscription.channel)
    return 'a webhook of another channel, or of no transaction';
  if (status >= 300) return undefined;
  const known = subscription.acknowledged.get(blockNumber);
  if (known !== undefined)
    return known.id === id ? undefined : `the event of line ${known.number} came again with another id`;
  subscription.acknowledged.set(blockNumber, { id, transactionId: String(transactionId), number });
  const isLate = blockNumber < subscription.newest;
  subscription.newest = Math.max(subscription.newest, blockNumber);
  return isLate ? 'an event came after a later one' : undefined;
}
