import { describeFabric } from './fabric-stories.ts';
import { standInNetwork } from './harness/fabric-stand-in.ts';

describeFabric('the stand-in of a Fabric network', standInNetwork);
