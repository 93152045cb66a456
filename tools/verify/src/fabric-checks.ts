// The check of proofs on Fabric, apart from the others: it parses certificates, which pages load only when needed.
export { checkFabric } from './fabric/check-fabric.ts';
export { readTrustFile } from './fabric/trust-file.ts';
