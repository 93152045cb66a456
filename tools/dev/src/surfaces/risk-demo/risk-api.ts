import { expectMade, postPatiently, type Posted } from '../post-patiently.ts';

/** The public API of surface A, as far as the demo data is written through it. */
export interface RiskApi {
  /** Adds to a collection; gives the id. */
  create(collection: string, body: object): Promise<string>;
  transition(evidenceId: string, body: object): Promise<void>;
  /** The same, for a review: false where this caller has collected what is to be reviewed. */
  review(evidenceId: string, body: object): Promise<boolean>;
}

/** Throws UserError when it is refused, or gives no answer. It waits where the limits say so. */
export function riskApi(url: string, key: string): RiskApi {
  const headers = { authorization: `Bearer ${key}` };
  const post = (path: string, body: object): Promise<Posted> => postPatiently(`${url}${path}`, { headers, body });
  return {
    create: async (collection, body) => String(expectMade(await post(`/api/${collection}`, body))['id']),
    transition: async (id, body) => void expectMade(await post(`/api/evidence/${id}/transitions`, body)),
    async review(id, body) {
      const posted = await post(`/api/evidence/${id}/transitions`, body);
      return posted.status === 403 ? false : expectMade(posted) !== undefined;
    },
  };
}
