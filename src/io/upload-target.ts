/** Which service an upload talks to, from the flags, the environment and what was started for it. */
import type { Environment } from '../core/environment.js';
import { resolveConfig } from './config.js';
import { type LocalService, localServiceName } from './local-service.js';
import type { ServiceAccess } from './sender.js';

export type UploadTarget = {
  readonly access: ServiceAccess;
  /** What the journal calls the service: its base URL, or a lasting name where the URL changes with every start. */
  readonly serviceName: string;
  /** What was wrong with the configuration and worked around, one line each. */
  readonly notices: readonly string[];
};

export type UploadTargetOptions = {
  /** The embedded service that runs for this command; `dry-run`: it is meant, and none is started. */
  readonly local: LocalService | 'dry-run' | null;
  /** `--url` */
  readonly url: string | undefined;
  /** Allow the key over plain HTTP to another machine. */
  readonly insecure: boolean;
  /** Version of prl. */
  readonly version: string;
  readonly environment: Environment;
};

/** @throws PrlError as `resolveConfig` */
export async function findTarget({
  local,
  url: given,
  insecure,
  version,
  environment,
}: UploadTargetOptions): Promise<UploadTarget> {
  if (local === 'dry-run') {
    const access = { baseUrl: 'the embedded service', apiKey: '', teamId: null, version };
    return { access, serviceName: await localServiceName(), notices: [] };
  }
  if (local !== null) {
    const access = { baseUrl: local.url, apiKey: local.token, teamId: null, version };
    return { access, serviceName: local.name, notices: [] };
  }
  const { url, apiKey, teamId, notices } = await resolveConfig({ environment, url: given });
  const access = { baseUrl: url.value, apiKey: apiKey.value, teamId: teamId.value, version, insecure };
  return { access, serviceName: url.value, notices };
}
