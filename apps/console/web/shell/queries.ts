import { QueryClient } from '@tanstack/react-query';
import { ProblemError } from './problem.ts';

const FRESH_MS = 10_000;

/** Reads are tried again once where no answer came or a service said 503; a change is never sent twice by itself. */
export const createQueries = (): QueryClient =>
  new QueryClient({
    defaultOptions: {
      queries: {
        staleTime: FRESH_MS,
        retry: (count, error) => count < 1 && error instanceof ProblemError && [0, 502, 503].includes(error.status),
      },
      mutations: { retry: false },
    },
  });
