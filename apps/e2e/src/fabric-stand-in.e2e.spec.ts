import { describeFabric } from './fabric-stories.ts';
import { standInNetwork } from './harness/fabric-stand-in.ts';

describeFabric('A Fabric network as the stand-in shows it', standInNetwork);
