import { Option } from 'commander';

export interface EnvironmentOptions {
  readonly environment?: string;
}

/** Where a command acts; the API's own default is `live`. */
export const environmentOption = (): Option => new Option('--environment <name>', 'the environment (default: live)');
