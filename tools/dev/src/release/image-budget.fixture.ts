/** What the tree of an image may weigh, in MiB: about a tenth more than it does. The base image is beside it. */
export const BUDGET_MIB: Readonly<Record<string, number>> = {
  'case-gate': 17,
  console: 7,
  'ingest-gateway': 17,
  'ledger-chaincode': 5,
  'ledger-peer': 11,
  'risk-partner': 18,
  verify: 1,
};

/** The processor time of a process from its start until it is ready. */
export const READY_CPU_MS = 1500;
/** What it then has while nobody asks anything. */
export const IDLE_MIB = 120;
