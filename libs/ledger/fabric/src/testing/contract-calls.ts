/** Calls of our contract in the stand-in's channel `main`. */
const call = { channel: 'main', chaincode: 'records' };

export const recordOf = (id: string, n = 1) => ({ id, type: 'asset', owner: null, data: `{"n":${n}}`, extra: null });

export const write = (id: string, n = 1) => ({
  ...call,
  transaction: 'createMany',
  args: [JSON.stringify([recordOf(id, n)])],
});

export const read = (id: string) => ({ ...call, transaction: 'read', args: [id] });

/** The rejection of a promise; undefined if it resolved. */
export const caught = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => undefined,
    (error: unknown) => error,
  );
