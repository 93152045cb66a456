import { UsageError } from '../errors.ts';
import { isObject, type JsonObject, textOf } from '../json-object.ts';
import type { GroupRows, Row } from '../row-command.ts';
import { cellText, type Format, rowFields } from '../row-table.ts';

/** A value is there only in the answer that generated it. */
const secretText: Format = (value) =>
  Array.isArray(value)
    ? value
        .filter(isObject)
        .map(({ id, value: secret }) => (secret === undefined ? textOf(id) : `${textOf(id)} ${textOf(secret)}`))
        .join(', ')
    : cellText(value);

const ID = 'sub_0190b6a7c0de7000800000000000000a';
const SHOWN_ONCE = 'A generated secret is shown only once: give it to the receiver then. Nobody can show it again.';

const create: Row = {
  operation: 'createSubscription',
  summary: 'Deliver the events of a channel to a URL, as signed webhooks; a generated secret is shown only once',
  details: SHOWN_ONCE,
  examples: [
    'sealgate subscriptions create --url https://hooks.example.com/in --channel acme.main',
    'sealgate subscriptions create --url https://hooks.example.com/in --channel acme.main --type order --from 0',
  ],
  options: { '--paused': { words: 'deliver nothing until it is resumed', sets: 'paused', to: true } },
  done: 'The subscription was created.',
};

const change: Row = {
  operation: 'changeSubscription',
  examples: [`sealgate subscriptions change ${ID} --pause`, `sealgate subscriptions change ${ID} --resume`],
  options: {
    '--pause': { words: 'deliver nothing for now', sets: 'paused', to: true },
    '--resume': { words: 'go on at the event that was not acknowledged', sets: 'paused', to: false },
  },
  unchanged: 'Nothing to change.',
  done: 'The subscription was changed.',
};

const READS_FIRST = 'Reads the subscription first, because a change lists all of its secrets.';

const addSecret: Row = {
  operation: 'changeSubscription',
  summary: 'Add a secret to a subscription, which is generated and shown only once',
  details: `To rotate a secret: add the new one, give it to the receiver, then remove the old one; both sign meanwhile.\n${SHOWN_ONCE}\n${READS_FIRST}`,
  readsFirst: true,
  examples: [`sealgate subscriptions add-secret ${ID} k2`],
  only: true,
  complete: async (body, { session, args: [, secretId = ''], path }) => {
    const secrets = idsOf((await session.api.json({ method: 'GET', path })).value);
    if (secrets.some(({ id }) => id === secretId)) throw new UsageError(`There is a secret ${secretId} already.`);
    body['secrets'] = [...secrets, { id: secretId }];
  },
  done: 'The secret was added.',
};

const removeSecret: Row = {
  operation: 'changeSubscription',
  summary: 'Remove a secret from a subscription: events are no longer signed with it',
  details: READS_FIRST,
  readsFirst: true,
  examples: [`sealgate subscriptions remove-secret ${ID} k1 --yes`],
  only: true,
  complete: async (body, { session, args: [, secretId = ''], path }) => {
    const secrets = idsOf((await session.api.json({ method: 'GET', path })).value);
    if (!secrets.some(({ id }) => id === secretId)) throw new UsageError(`There is no secret ${secretId}.`);
    body['secrets'] = secrets.filter(({ id }) => id !== secretId);
  },
  confirm: 'Remove the secret <secretId>? A receiver that has no other one refuses what comes then.',
  done: 'The secret <secretId> is gone.',
};

function idsOf({ secrets }: JsonObject): { id: string }[] {
  return Array.isArray(secrets) ? secrets.filter(isObject).map((one) => ({ id: textOf(one['id']) })) : [];
}

export const subscriptionsGroup: GroupRows = {
  name: 'subscriptions',
  summary: 'Receivers of events of the ledger peer, as signed webhooks.',
  surfaces: ['ledger-peer'],
  text: (row) => rowFields(row, { secrets: secretText }),
  commands: {
    list: {
      operation: 'listSubscriptions',
      columns:
        'SUBSCRIPTION subscriptionId, STATE state, CHANNEL channel, URL url, FAILING SINCE failingSince, PROBLEM problem, DELIVERED deliveredAt',
      none: 'There are no subscriptions.',
    },
    'get <subscriptionId>': { operation: 'getSubscription' },
    create,
    'change <subscriptionId>': change,
    'add-secret <subscriptionId> <secretId>': addSecret,
    'remove-secret <subscriptionId> <secretId>': removeSecret,
    'delete <subscriptionId>': {
      operation: 'deleteSubscription',
      examples: [`sealgate subscriptions delete ${ID} --yes`],
      confirm: 'Delete the subscription <subscriptionId>? What was not delivered is not delivered any more.',
      done: 'The subscription <subscriptionId> is deleted.',
    },
  },
};
