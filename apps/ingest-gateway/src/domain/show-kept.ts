import { AppError } from '@sealgate/errors';
import type { ReadBody } from './read-body.ts';
import type { DeliveryRules } from './read-delivery.ts';
import type { KeptDelivery } from './refusals.ts';
import type { SourceSettings } from './source.ts';

/** What may be shown of a kept delivery. */
interface ShownDelivery {
  readonly headers: { readonly name: string; readonly value: string | null }[];
  /** Canonical JSON without sensitive members; null where it is not shown. */
  readonly body: string | null;
  readonly strippedFields: number;
  readonly whyHidden: string | null;
}

export type ShowKept = (
  delivery: KeptDelivery,
  source: { readonly settings: SourceSettings; readonly networkId: string },
) => Promise<ShownDelivery>;

const MOST_SHOWN_BYTES = 262_144;
const MOST_SHOWN_CHARACTERS = 512;
/** The scheme may have been wrong, so a header can hold the credential of another one. */
const CREDENTIAL = /auth|cookie|credential|key|pass|secret|token/;

/** Shows what is kept as it would be written: its body is read and stripped as that of any delivery. */
export function showKept({
  read,
  formOf,
}: {
  readonly read: ReadBody;
  readonly formOf: (contentType: string | undefined) => DeliveryRules['form'] | undefined;
}): ShowKept {
  return async ({ headers, body }, { settings, networkId }) => {
    const isHidden = (name: string) => CREDENTIAL.test(name) || name === settings.token?.header;
    const shown = {
      headers: headers.map(([name, value]) => ({
        name,
        value: isHidden(name) ? null : value.slice(0, MOST_SHOWN_CHARACTERS),
      })),
    };
    const hidden = (whyHidden: string) => ({ ...shown, body: null, strippedFields: 0, whyHidden });
    if (body.length > MOST_SHOWN_BYTES)
      return hidden(`It has ${body.length} bytes; at most ${MOST_SHOWN_BYTES} are shown.`);
    const form = formOf(new Map(headers).get('content-type'));
    if (form === undefined) return hidden('Its media type is not supported, so it cannot be read and stripped.');
    const nowhere = { type: null, id: null, owner: null, deliveryId: null };
    const rules: DeliveryRules = { form, ...nowhere, answersChallenge: false };
    try {
      const { data, strippedFields } = await read(body, { delivery: rules }, networkId);
      return { ...shown, body: data, strippedFields, whyHidden: null };
    } catch (error) {
      if (!(error instanceof AppError) || error.status >= 500) throw error;
      return hidden(`It cannot be read, so it cannot be stripped: ${error.faults[0]?.detail ?? error.message}`);
    }
  };
}
