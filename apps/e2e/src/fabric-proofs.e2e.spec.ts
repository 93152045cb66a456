import { proofStories } from './fabric-proofs.ts';
import { standInNetwork } from './harness/fabric-stand-in.ts';

proofStories(standInNetwork);
