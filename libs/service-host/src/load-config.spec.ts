import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import {
  booleanField,
  choiceField,
  ConfigError,
  customField,
  integerField,
  loadConfig,
  storeFields,
  textField,
  type ConfigFields,
  type Environment,
} from './index.ts';

const fields = {
  port: integerField({ name: 'PORT', description: 'Port.', min: 0, max: 65_535, default: 8080 }),
  adminPort: integerField({ name: 'ADMIN_PORT', description: 'Port.', min: 0, max: 65_535, default: undefined }),
  driver: choiceField({
    name: 'LEDGER_DRIVER',
    description: 'Driver.',
    choices: ['embedded', 'fabric'],
    default: 'embedded',
  }),
  integrator: booleanField({ name: 'LEDGER_INTEGRATOR', description: 'Whether.', default: false }),
  databaseUrl: storeFields.databaseUrl,
  origin: textField({ name: 'ORIGIN', description: 'Text.' }),
};

const needed = { DATABASE_URL: 'postgres://u:p@h/d', ORIGIN: 'o' };

/** The lines of the error, without the first. */
function faultsOf(env: Environment, of: ConfigFields = fields): string[] {
  try {
    loadConfig(of, env);
    return [];
  } catch (error) {
    expect(error).toBeInstanceOf(ConfigError);
    return (error as Error).message.split('\n- ').slice(1);
  }
}

describe('loadConfig', () => {
  it('reads set variables and uses defaults for others', () => {
    const config = loadConfig(fields, { ...needed, PORT: '0', LEDGER_INTEGRATOR: 'true' });
    expect(config).toEqual({
      port: 0,
      adminPort: undefined,
      driver: 'embedded',
      integrator: true,
      databaseUrl: 'postgres://u:p@h/d',
      origin: 'o',
    });
    expect(Object.isFrozen(config)).toBe(true);
  });

  it('treats an empty variable as unset', () => {
    expect(loadConfig(fields, { ...needed, PORT: '' }).port).toBe(8080);
    expect(faultsOf({ ...needed, ORIGIN: '' })).toEqual(['ORIGIN: is required']);
  });

  it('reports every fault of every variable at once', () => {
    const env = {
      PORT: '65536',
      LEDGER_DRIVER: 'Fabric',
      LEDGER_INTEGRATOR: '1',
      LEDGER_DRIVR: 'x',
      DATABASE_URL: 'mysql://x',
    };
    expect(faultsOf(env)).toEqual([
      'PORT: must be a whole number from 0 to 65535',
      'LEDGER_DRIVER: must be one of embedded, fabric',
      'LEDGER_INTEGRATOR: must be true or false',
      expect.stringMatching(/^DATABASE_URL: must be a URL that begins with `postgres:/),
      'ORIGIN: is required',
      'LEDGER_DRIVR: is not a variable of this service',
    ]);
  });

  it.each(['-1', '01', '1.5', '1e3', ' 1', '0x10', 'ten', '9007199254740993'])('refuses %s as a number', (text) => {
    expect(faultsOf({ ...needed, PORT: text })).toHaveLength(1);
  });

  it('checks combinations once each variable is valid', () => {
    const check = ({ port, origin }: { port: number; origin: string }) => [`${origin}: not on ${port}`];
    expect(() => loadConfig(fields, needed, { check })).toThrow('- o: not on 8080');
    expect(() => loadConfig(fields, { ...needed, PORT: 'x' }, { check })).not.toThrow(/not on/);
    expect(loadConfig(fields, needed, { check: () => [] }).origin).toBe('o');
  });
});

describe('a secret', () => {
  it('is never in the message, even if its parser quotes it', () => {
    const leaky = customField({
      name: 'SERVER_SECRETS',
      description: 'Secrets.',
      form: 'text',
      isSecret: true,
      parse: (text): string => {
        throw new Error(`"${text}" will not do`);
      },
    });
    fc.assert(
      fc.property(fc.string({ minLength: 4 }), (secret) => {
        const message = faultsOf({ SERVER_SECRETS: secret }, { leaky }).join();
        expect(message).toBe('SERVER_SECRETS: is not valid');
      }),
    );
  });

  it('is not quoted if set in the wrong variable', () => {
    expect(faultsOf({ ...needed, DATABASE_PASSWORD: 'hunter2' }).join()).not.toContain('hunter2');
  });
});

describe('unknown variables', () => {
  it.each(['SEALGATE_ANYTHING', 'SEALGATE_', 'LEDGER_X', 'ADMIN_POTR', 'DATABASE_UR'])(
    'like %s are refused',
    (name) => {
      expect(faultsOf({ ...needed, [name]: 'x' })).toEqual([`${name}: is not a variable of this service`]);
    },
  );

  it.each(['PATH', 'HOME', 'PORTS', 'ORIGIN_X', 'NODE_OPTIONS', 'LEDGER', 'XLEDGER_DRIVER', 'ledger_x'])(
    'like %s are ignored',
    (name) => {
      expect(faultsOf({ ...needed, [name]: 'x' })).toEqual([]);
    },
  );

  it("ignore those of Fabric's own commands", () => {
    const file = textField({ name: 'FABRIC_CONFIG', description: 'A file.', default: '' });
    const env = { ...needed, FABRIC_CFG_PATH: '/etc/fabric', FABRIC_LOGGING_SPEC: 'info' };
    expect(faultsOf(env, { file })).toEqual([]);
    expect(faultsOf({ ...env, FABRIC_CONFG: 'x' }, { file })).toEqual([
      'FABRIC_CONFG: is not a variable of this service',
    ]);
  });

  it('ignore those that Kubernetes sets for services named like ours', () => {
    const ofServices = {
      LEDGER_SERVICE_HOST: '10.0.0.7',
      LEDGER_SERVICE_PORT: '80',
      LEDGER_SERVICE_PORT_HTTP: '80',
      LEDGER_PORT: 'tcp://10.0.0.7:80',
      LEDGER_PORT_80_TCP: 'tcp://10.0.0.7:80',
      LEDGER_PORT_80_TCP_PROTO: 'tcp',
      LEDGER_PORT_80_TCP_PORT: '80',
      LEDGER_PORT_80_TCP_ADDR: '10.0.0.7',
      DATABASE_PORT: 'udp://10.0.0.7:53',
      ADMIN_PORT: 'tcp://10.0.0.8:9090',
    };
    expect(loadConfig(fields, { ...needed, ...ofServices }).adminPort).toBeUndefined();
    expect(faultsOf({ ...needed, LEDGER_PORT: '80' })).toHaveLength(1);
  });
});
