import { QueryClient } from '@tanstack/react-query';
import { ProblemError } from './problem.ts';

const FRESH_MS = 10_000;

/** Nobody who has waited for the whole time of an answer wants to wait for it twice. */
const isWaited = ({ cause }: ProblemError): boolean => cause instanceof DOMException && cause.name === 'TimeoutError';

/** Reads are tried again once where the connection failed or a service said 503; a change is never sent twice by itself. */
export const createQueries = (): QueryClient =>
  new QueryClient({
    defaultOptions: {
      queries: {
        staleTime: FRESH_MS,
        retry: (count, error) =>
          count < 1 && error instanceof ProblemError && [0, 502, 503].includes(error.status) && !isWaited(error),
      },
      mutations: { retry: false },
    },
  });
