import { join } from 'node:path';

/** The addresses of one node; all on loopback. */
export interface NodePlan {
  readonly name: string;
  readonly postgresPort: number;
  readonly apiPort: number;
  /** Where this node reaches etcd. */
  readonly etcdPort: number;
  readonly folder: string;
}

export interface Passwords {
  readonly superuser: string;
  readonly replication: string;
}

/**
 * The settings of the page for operators (infra/operations/fail-over.md, "Under Patroni"), with the shortest times that
 * Patroni takes: a leader that is silent for 20 s loses its lease.
 */
export function patroniYaml(node: NodePlan, binFolder: string, { superuser, replication }: Passwords): string {
  const { name, postgresPort, apiPort, etcdPort, folder } = node;
  return `scope: sealgate
name: ${name}
restapi: { listen: '127.0.0.1:${apiPort}', connect_address: '127.0.0.1:${apiPort}' }
etcd3: { hosts: '127.0.0.1:${etcdPort}', use_proxies: true }
bootstrap:
  dcs:
    ttl: 20
    loop_wait: 2
    retry_timeout: 5
    maximum_lag_on_failover: 1048576
    synchronous_mode: true
    primary_start_timeout: 0
    postgresql:
      use_pg_rewind: true
      use_slots: true
      parameters: { max_connections: 100, shared_buffers: 32MB, max_wal_size: 256MB, wal_keep_size: 256MB, fsync: 'off' }
  initdb: [{ encoding: UTF8 }, { locale: C }, data-checksums, { auth: scram-sha-256 }]
postgresql:
  listen: '127.0.0.1:${postgresPort}'
  connect_address: '127.0.0.1:${postgresPort}'
  data_dir: ${join(folder, 'data')}
  bin_dir: ${binFolder}
  pgpass: ${join(folder, 'pgpass')}
  authentication:
    superuser: { username: postgres, password: ${superuser} }
    replication: { username: replicator, password: ${replication} }
  parameters: { unix_socket_directories: '${folder}' }
  pg_hba: ['local all all scram-sha-256', 'host all all 127.0.0.1/32 scram-sha-256', 'host replication replicator 127.0.0.1/32 scram-sha-256']
`;
}

/** HAProxy passes connections to the node whose Patroni says that it is the primary, and cuts those of any other. */
export function haproxyConfig(port: number, nodes: readonly NodePlan[]): string {
  const servers = nodes.map(
    ({ name, postgresPort, apiPort }) => `  server ${name} 127.0.0.1:${postgresPort} maxconn 200 check port ${apiPort}`,
  );
  return `global
  maxconn 500
defaults
  mode tcp
  timeout connect 2s
  timeout client 30m
  timeout server 30m
  timeout check 2s
listen primary
  bind 127.0.0.1:${port}
  option httpchk OPTIONS /primary
  http-check expect status 200
  default-server inter 1s fall 2 rise 1 on-marked-down shutdown-sessions
${servers.join('\n')}
`;
}
