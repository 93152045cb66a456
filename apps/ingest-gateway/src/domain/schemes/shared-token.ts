import { hash, timingSafeEqual } from 'node:crypto';
import { MAX_SIGNATURE_LENGTH, TEXT_SECRET_FORM, textKey, type Scheme } from './scheme.ts';

/** Where a shared token is sent. */
export interface TokenPlace {
  /** Lower case. */
  readonly header: string;
  /** What stands before the token, such as `Bearer `. */
  readonly prefix: string;
}

/** A token that the sender puts into a header. It says who sends, and nothing of what is sent. */
export const sharedToken: Scheme = {
  secretForm: TEXT_SECRET_FORM,
  readKey: textKey,
  verify({ header }, keys, { token }) {
    const given = token === undefined ? undefined : header(token.header);
    if (token === undefined || given === undefined || given.length > MAX_SIGNATURE_LENGTH) return undefined;
    if (!given.startsWith(token.prefix)) return undefined;
    // Hashes are compared, so that not even the length of a token can be learnt.
    const presented = hash('sha256', given.slice(token.prefix.length), 'buffer');
    const found = keys.find(({ key }) => timingSafeEqual(hash('sha256', key.export(), 'buffer'), presented));
    return found === undefined ? undefined : { keyId: found.id };
  },
  sign: ({ key }, { token }) =>
    token === undefined ? undefined : { [token.header]: token.prefix + key.key.export().toString('latin1') },
};
