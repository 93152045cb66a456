import { lineOfText, type Description } from '@sealgate/http';
import { Type, type TProperties } from '@sinclair/typebox';

export const Name = lineOfText({ min: 1, max: 1024 });

/** The list of the public logs. */
export const LOGS_PATH = '/ledger';

export const EpochName = lineOfText({ min: 2, max: 16 });

interface LogPlace {
  readonly path: '/ledger/:channel' | '/ledger/:channel/:epoch';
  readonly params: { readonly channel: typeof Name; readonly epoch?: typeof EpochName };
  readonly suffix: string;
  readonly of: string;
}

/** The first log of a channel, and those after a declared loss, each with its own path: `/ledger/acme.main/e1`. */
export const OF_CHANNEL: LogPlace = { path: '/ledger/:channel', params: { channel: Name }, suffix: '', of: '' };
export const OF_EPOCH: LogPlace = {
  path: '/ledger/:channel/:epoch',
  params: { channel: Name, epoch: EpochName },
  suffix: 'OfEpoch',
  of: ' of an epoch, as `e1`',
};

/**
 * Paths of tiles by the number of groups in their index, so that generated clients need no slash inside a parameter.
 */
export const tileForms = (place: LogPlace): readonly Description[] => {
  const level = Type.Integer({ minimum: 0, maximum: 63 });
  return [0, 1, 2].flatMap((further) =>
    forms(place, further, { path: 'tile/{level}', params: { level }, name: 'Tile', of: 'tile of the Merkle tree' }),
  );
};

export const bundleForms = (place: LogPlace): readonly Description[] =>
  [0, 1, 2].flatMap((further) =>
    forms(place, further, { path: 'tile/entries', params: {}, name: 'Entries', of: 'bundle of entries of the log' }),
  );

interface Tiled {
  readonly path: string;
  readonly params: TProperties;
  readonly name: string;
  readonly of: string;
}

function forms(place: LogPlace, further: number, { path: of, params: its, name, of: what }: Tiled): Description[] {
  const groups = Array.from({ length: further }, (_, at) => `x${at + 1}`);
  const log = place.path.replace(/:(\w+)/g, '{$1}');
  const path = [`${log}/${of}`, ...groups.map((group) => `{${group}}`), '{n}'].join('/');
  const params = {
    ...place.params,
    ...its,
    ...Object.fromEntries(groups.map((group) => [group, Type.String({ pattern: '^x[0-9]{3}$' })])),
    n: Type.String({ pattern: '^[0-9]{3}$', description: 'The last three digits of its index.' }),
  };
  const width = Type.Integer({ minimum: 1, maximum: 255, description: 'Number of items in it.' });
  const suffix = `${place.suffix}${further === 0 ? '' : `Of${further + 1}Groups`}`;
  return [
    {
      path,
      operationId: `get${name}${suffix}`,
      summary: `A full ${what}${place.of} (C2SP tlog-tiles)`,
      params: Type.Object(params),
    },
    {
      path: `${path}.p/{width}`,
      operationId: `getPartial${name}${suffix}`,
      summary: `A partial ${what}${place.of} (C2SP tlog-tiles)`,
      params: Type.Object({ ...params, width }),
    },
  ];
}
