import { execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { otlpReceiver, until, type OtlpReceiver } from '@sealgate/testing';
import { guard } from './guardian.ts';
import { quietPort } from './gateway-process.ts';

/** The unmodified OpenTelemetry collector with the two components needed here. Built once per machine. */
const VERSION = 'v0.165.0';
const folder = join(tmpdir(), `sealgate-go-${userInfo().uid}`, `otelcol-${VERSION}`);
const binary = join(folder, 'otelcol');

/** Why there is no collector; undefined where there is one. Its build takes minutes of Go, so only on request. */
export function missingCollector(): string | undefined {
  if (existsSync(binary)) return undefined;
  if (process.env['SEALGATE_FULL'] !== '1') return 'SEALGATE_FULL=1 builds it';
  const building = `${folder}.${process.pid}`;
  try {
    mkdirSync(building, { recursive: true });
    mkdirSync(folder, { recursive: true });
    const parts = [
      `dist: { name: otelcol, output_path: ./out }`,
      `receivers: [{ gomod: go.opentelemetry.io/collector/receiver/otlpreceiver ${VERSION} }]`,
      `exporters: [{ gomod: go.opentelemetry.io/collector/exporter/otlphttpexporter ${VERSION} }]`,
    ];
    writeFileSync(join(building, 'builder.yaml'), parts.join('\n'));
    const how = { cwd: building, timeout: 1_200_000, env: { ...process.env, GOBIN: building } };
    execFileSync('go', ['install', `go.opentelemetry.io/collector/cmd/builder@${VERSION}`], how);
    execFileSync('./builder', ['--config', 'builder.yaml', '--skip-strict-versioning'], how);
    execFileSync('mv', [join(building, 'out', 'otelcol'), binary]);
    return undefined;
  } catch (error) {
    return String(error).slice(0, 300);
  } finally {
    rmSync(building, { recursive: true, force: true });
  }
}

export interface Collector extends Pick<OtlpReceiver, 'spans' | 'bytes'> {
  readonly url: string;
  stop(): Promise<void>;
}

/** Receives spans through the collector and passes on its output; without a collector, receives them directly. */
export async function startCollector(hasCollector: boolean): Promise<Collector> {
  const receiver = await otlpReceiver();
  const { spans, bytes } = receiver;
  if (!hasCollector) return { url: receiver.url, spans, bytes, stop: () => receiver.close() };
  const [port, telemetryFolder] = [await quietPort(), mkdtempSync(join(tmpdir(), 'sealgate-otelcol-'))];
  const config = {
    receivers: { otlp: { protocols: { http: { endpoint: `127.0.0.1:${port}` } } } },
    exporters: { otlphttp: { endpoint: receiver.url, compression: 'none', sending_queue: { enabled: false } } },
    service: {
      telemetry: { metrics: { level: 'none' } },
      pipelines: { traces: { receivers: ['otlp'], exporters: ['otlphttp'] } },
    },
  };
  const file = join(telemetryFolder, 'config.json');
  writeFileSync(file, JSON.stringify(config));
  const child = spawn(binary, ['--config', file], { stdio: ['ignore', 'ignore', 'pipe'] });
  guard(child);
  let said = '';
  child.stderr.on('data', (part: Buffer) => (said += part.toString()));
  const url = `http://127.0.0.1:${port}`;
  const answers = (): Promise<boolean> => fetch(url).then(Boolean, () => false);
  await until(async () => child.exitCode !== null || (await answers()), { timeoutMs: 30_000, what: 'a collector' });
  if (child.exitCode !== null) throw new Error(`The collector did not start:\n${said.slice(-2000)}`);
  return {
    url,
    spans,
    bytes,
    async stop() {
      const ended = new Promise((resolve) => child.once('exit', resolve));
      child.kill();
      await ended;
      await receiver.close();
      rmSync(telemetryFolder, { recursive: true, force: true });
    },
  };
}
